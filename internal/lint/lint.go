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
	"pregel": 1, "internal/edges": 1, "internal/transport": 1, "internal/trace": 1,
	"combiners": 2, "combiners/internal/gen": 2, "internal/graph": 2, "internal/generate": 2, "internal/collective": 2,
	"internal/transport/mesh": 2, "internal/transport/pack": 2, "internal/control": 2, "internal/membership": 2, "internal/history": 2,
	"internal/otlp":     2,
	"internal/delivery": 3, "internal/graph/build": 3, "internal/graphio": 3, "internal/netbench": 3, "internal/client": 3,
	"internal/bsp": 4, "internal/engine": 5, "internal/load": 4, "internal/netbench/ranks": 4, "internal/jobtrace": 4, "internal/metrics": 4, "internal/web": 4,
	"algorithms": 4, "algorithms/reference": 4, "algorithms/verify": 4,
	"internal/graph500/validate": 3,
	"internal/graph500":          6,
	"master":                     5, "worker": 5, // they meet in internal/control
	"internal/cluster": 7,
	"internal/cli":     8, "internal/testcluster": 8,
	"":              9, // the root package
	"cmd/superstep": 10, "examples": 10, "test": 10, "pregel/pregeltest": 10,
	"lab/experiment": 9, "lab/model": 9, "lab": 10,
}

// unsafeFiles are the only ones that may import unsafe.
var unsafeFiles = map[string]bool{
	"combiners/column.go":     true, // the size of a message
	"internal/engine/push.go": true, // the size of a message
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
