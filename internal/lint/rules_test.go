// Package lint tests the project's own rules (CONTRIBUTING.md): allowed imports, lengths of files,
// use of unsafe, and dependencies of the library. The rules are tests that use only the standard
// library, so `go test ./...` checks them on any machine with Go. Start with lint_test.go.
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

// module is the module's path, the prefix of its own imports.
const module = "github.com/superstep-go/superstep"

// unsafeFiles are the only files that may import unsafe.
var unsafeFiles = map[string]bool{
	"internal/transport/mesh/short_linux.go": true, // addresses for system calls
	"internal/kernel/column.go":              true, // the size of a message
	"internal/engine/push.go":                true, // the size of a message
	"combiners/sums.go":                      true, // reads without bounds checks
}

// file is a parsed Go file of the module.
type file struct {
	path  string // relative to the module's root, with slashes
	lines int
	test  bool
	ast   *ast.File
}

// generated reports by its suffix whether go generate writes the file.
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

// fileSet is the file set of the parsed files.
var fileSet = token.NewFileSet()

// files parses every Go file of the module below root.
func files(root string) ([]file, error) {
	var all []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			_, statErr := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" ||
				statErr == nil) {
				return filepath.SkipDir // a hidden folder, data, or another module
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
		tree, err := parser.ParseFile(fileSet, path, source, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, file{
			path: filepath.ToSlash(rel), lines: strings.Count(string(source), "\n"),
			test: strings.HasSuffix(path, "_test.go"), ast: tree,
		})
		return nil
	})
	return all, err
}
