package lint

import (
	"slices"
	"strings"
	"testing"
)

// foreign says which packages from outside the standard library and this module a package may link,
// by what their paths begin with.
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

	maxForeign = 30 // packages of a program that runs a program on edges in memory
)

// TestTheLibraryIsLight: what costs a program that does not need it is linked by packages that it
// imports itself.
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
