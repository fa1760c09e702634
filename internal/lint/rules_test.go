// Package lint holds the project to its own rules (CONTRIBUTING.md): what may import what, how long files are, where
// unsafe may stand, what the library links. The rules are tests, with the standard library alone, so that `go test ./...` checks them on any
// machine with Go.
package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the module's path, before which imports are ours.
const module = "github.com/superstep-go/superstep"

// layers are the packages, from the ground up. An import goes to a lower layer, to one that stands before in its own, or into the
// package's own subfolder. Examples and tests share a name; the root package has none. docs/design.md has the same table.
var layers = [...][]string{
	{
		"internal/wire", "internal/bitmap", "internal/parallel", "internal/mem", "internal/names", "internal/statefile", "internal/figure", "internal/buildinfo",
		"internal/invariants", "internal/laxgc", "internal/faults", "internal/lint", "internal/store", "internal/store/s3", "internal/store/storetest", "internal/checkpoint", "internal/escape", "internal/certs", "internal/backup", "internal/standby",
	},
	{"internal/kernel", "pregel", "internal/plans", "plan", "internal/laws", "internal/edges", "internal/trace", "internal/transport"},
	{
		"combiners/internal/gen", "combiners", "internal/graph", "internal/generate", "internal/graphio", "internal/graphio/parquet", "drivers/s3", "drivers/parquet",
		"internal/testcluster/memlink", "internal/collective", "internal/graph/build", "internal/snapshot", "internal/load", "internal/transport/pack", "internal/transport/mesh",
		"internal/control", "internal/membership", "internal/objects",
	},
	{
		"internal/delivery", "internal/bsp", "internal/engine", "algorithms/reference", "algorithms/verify", "algorithms/internal/mode", "algorithms",
		"internal/backend", "internal/ranks", "internal/netbench", "internal/resultlines",
	},
	{
		"internal/graph500/validate", "internal/graph500", "internal/graphalytics", "internal/builtin", "internal/jobspec", "internal/history", "internal/otlp", "drivers/otlp",
		"internal/jobtrace", "internal/metrics", "internal/web", "internal/client",
	},
	{"master", "worker"}, // they meet in internal/control
	{"internal/cli", "", "cluster", "command", "internal/testcluster/memgroup", "internal/testcluster", "internal/programtest"},
	{"internal/reference", "pregel/pregeltest", "examples", "test", "cmd/superstep"},
}

// unsafeFiles are the only ones that may import unsafe.
var unsafeFiles = map[string]bool{
	"internal/transport/mesh/short_linux.go": true, // addresses for the kernel
	"internal/kernel/column.go":              true, // the size of a message
	"internal/engine/push.go":                true, // the size of a message
	"combiners/sums.go":                      true, // reads without a check of bounds
}

// file is a parsed Go file of the module.
type file struct {
	path  string // from the module's root, with slashes
	lines int
	test  bool
	ast   *ast.File
}

// generated reports whether go generate writes the file, by what its name ends in.
func (f file) generated() bool {
	for _, suffix := range []string{"_gen.go", ".pb.go", ".connect.go"} {
		if strings.HasSuffix(f.path, suffix) {
			return true
		}
	}
	return false
}

func (f file) pkg() string {
	dir := filepath.ToSlash(filepath.Dir(f.path))
	if dir == "." {
		return ""
	}
	return dir
}

func (f file) imports() []string {
	var paths []string
	for _, i := range f.ast.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// files parses every Go file below root that belongs to the module.
func files(root string) ([]file, error) {
	var all []file
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			_, statErr := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || statErr == nil) {
				return filepath.SkipDir // hidden, data, or a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(set, path, source, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, file{
			path: filepath.ToSlash(rel), lines: strings.Count(string(source), "\n"), test: strings.HasSuffix(path, "_test.go"), ast: tree,
		})
		return nil
	})
	return all, err
}

// place is where a package stands: its layer, and its place in it.
type place struct{ layer, at int }

// below reports whether what stands at q may import what stands at p.
func (p place) below(q place) bool { return p.layer < q.layer || p.layer == q.layer && p.at < q.at }

// placeOf finds the package of a path below the module.
func placeOf(pkg string) (place, bool) {
	top, _, _ := strings.Cut(pkg, "/")
	if top == "examples" || top == "test" {
		pkg = top
	}
	for i, packages := range layers {
		if at := slices.Index(packages, pkg); at >= 0 {
			return place{i, at}, true
		}
	}
	return place{}, false
}
