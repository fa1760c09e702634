// Package lint holds the project to its own rules (CONTRIBUTING.md): what may import what, how long files are, where
// unsafe may stand. The rules are tests, with the standard library alone, so that `go test ./...` checks them on any
// machine with Go.
package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the module's path, before which imports are ours.
const module = "github.com/superstep-go/superstep"

// layers says how high each package stands. An import goes to a lower one, or into the package's own subfolder.
var layers = map[string]int{
	"internal/bitmap": 0, "internal/parallel": 0, "internal/wire": 0, "internal/mem": 0, "internal/lint": 0, "internal/statefile": 0, "internal/invariants": 0, "internal/figure": 0,
	"internal/testcluster/memlink": 0, "internal/testcluster/memgroup": 4,
	"internal/kernel": 1,
	"pregel":          2, "internal/edges": 2, "internal/transport": 2, "internal/trace": 2,
	"combiners": 3, "combiners/internal/gen": 3, "internal/graph": 3, "internal/generate": 3, "internal/collective": 3,
	"internal/transport/mesh": 3, "internal/transport/pack": 3, "internal/control": 3, "internal/membership": 3, "internal/history": 3,
	"internal/otlp":     3,
	"internal/delivery": 4, "internal/graph/build": 4, "internal/graphio": 4, "internal/netbench": 4, "internal/client": 4,
	"internal/bsp": 5, "internal/engine": 6, "internal/load": 5, "internal/jobspec": 7, "internal/netbench/ranks": 5, "internal/jobtrace": 5, "internal/metrics": 5, "internal/web": 5,
	"algorithms": 5, "algorithms/reference": 5, "algorithms/verify": 5,
	"internal/graph500/validate": 4,
	"internal/graph500":          7, "internal/builtin": 7,
	"master": 8, "worker": 8, // they meet in internal/control
	"internal/cli": 9, "internal/testcluster": 9,
	"":              10, // the root package
	"cmd/superstep": 11, "examples": 11, "test": 11, "pregel/pregeltest": 11,
	"lab/experiment": 10, "lab/model": 10, "lab": 11,
}

// unsafeFiles are the only ones that may import unsafe.
var unsafeFiles = map[string]bool{
	"internal/kernel/column.go": true, // the size of a message
	"internal/engine/push.go":   true, // the size of a message
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

// layer returns how high the package of a path below the module stands; examples and tests share theirs.
func layer(pkg string) (int, bool) {
	if l, ok := layers[pkg]; ok {
		return l, true
	}
	if top, _, ok := strings.Cut(pkg, "/"); ok && (top == "examples" || top == "test") {
		return layers[top], true
	}
	return 0, false
}
