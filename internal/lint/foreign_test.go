package lint

import (
	"slices"
	"strings"
	"testing"
)

// foreign has, for each package, the prefixes of the packages that it may link from outside the
// standard library and this module.
var foreign = map[string][]string{
	"pregel":          {"golang.org/x/sys/unix"},
	"combiners":       {"golang.org/x/sys/unix"},
	"internal/bsp":    {"golang.org/x/sys/unix", s2, msgpack, tagparser},
	"internal/engine": {"golang.org/x/sys/unix", s2, msgpack, tagparser, xz},
	"plan":            {"golang.org/x/sys/unix", s2, msgpack, tagparser, xz},
	"algorithms":      {"golang.org/x/sys/unix", s2, msgpack, tagparser, xz},
	"":                {"golang.org/x/sys/unix", s2, msgpack, tagparser, xz},
}

const (
	s2        = "github.com/klauspost/compress"
	msgpack   = "github.com/vmihailenco/msgpack/v5"
	tagparser = "github.com/vmihailenco/tagparser/v2"
	xz        = "github.com/therootcompany/xz"

	maxForeign = 30 // packages in a program that runs on edges in memory
)

// TestTheLibraryIsLight: a program links a large dependency only if it imports a package that needs
// it.
func TestTheLibraryIsLight(t *testing.T) {
	list, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	for pkg, allowed := range foreign {
		if list.files[pathOf(pkg)] == "" {
			t.Errorf("go list has no package %q", pkg)
		}
		outside := list.outside[pathOf(pkg)]
		for _, path := range outside {
			if !slices.ContainsFunc(allowed, func(begin string) bool {
				return path == begin || strings.HasPrefix(path, begin+"/")
			}) {
				t.Errorf("package %q links %s", pkg, path)
			}
		}
		if len(outside) > maxForeign {
			t.Errorf("package %q links %d packages from elsewhere, and may link %d", pkg,
				len(outside), maxForeign)
		}
	}
}
