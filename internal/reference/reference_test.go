package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPagesAreCurrent compares the pages with newly generated ones.
func TestPagesAreCurrent(t *testing.T) {
	t.Setenv("SUPERSTEP_MASTER", "elsewhere:1")
	root := filepath.Join("..", "..")
	all, err := render(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is out of date: run go generate ./internal/reference", name)
		}
	}
	if len(all) != len(pages) {
		t.Errorf("%d pages, want %d", len(all), len(pages))
	}
}

// TestVariables: the page about configuration lists exactly the variables that the code reads.
func TestVariables(t *testing.T) {
	read, err := environment(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	// a library reads these, so their names are not in this code
	read = append(read, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	slices.Sort(read)
	if known := slices.Sorted(maps.Keys(variables)); !slices.Equal(read, known) {
		t.Errorf("the code reads %v, and the page has %v", read, known)
	}
}

var variable = regexp.MustCompile(`^((SUPERSTEP|AWS|OTEL)_[A-Z0-9_]*[A-Z0-9]|GOMEMLIMIT)$`)

// environment returns the variables named in the product's code. It leaves out tests, and further
// variables of OpenTelemetry.
func environment(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			skip := rel != "." && (strings.HasPrefix(d.Name(), ".") ||
				slices.Contains([]string{"test", "lab", "tools", "examples", "testdata", "node_modules", "reference"}, d.Name()))
			if skip {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			name, _ := strconv.Unquote(l.Value)
			further := strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") &&
				!strings.HasSuffix(name, "ENDPOINT")
			if variable.MatchString(name) && !further {
				found[name] = true
			}
			return true
		})
		return nil
	})
	return slices.Sorted(maps.Keys(found)), err
}
