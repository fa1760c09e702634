package lint

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// parsed returns the files of the module.
var parsed = sync.OnceValues(func() ([]file, error) { return files("../..") })

func all(t *testing.T) []file {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("only %d files found", len(list))
	}
	return list
}

// TestDesignHasTheRooms: docs/design.md lists the rooms of this package, from top to bottom.
func TestDesignHasTheRooms(t *testing.T) {
	design, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(design)
	for _, r := range slices.Backward(rooms) {
		list := strings.ReplaceAll(strings.Join(r.packages, ", "), ", ,", ", superstep,")
		row := fmt.Sprintf("\n| %s | %s |", r.name, list)
		_, after, found := strings.Cut(rest, row)
		if !found {
			t.Fatalf("docs/design.md has no row, or not in its place, that begins with%s", row)
		}
		rest = after
	}
}

func TestUnsafeStaysWhereItIs(t *testing.T) {
	for _, f := range all(t) {
		if f.test || !slices.Contains(f.imports(), "unsafe") {
			continue
		}
		if strings.HasSuffix(f.path, ".pb.go") {
			continue // protoc-gen-go writes a descriptor as a string
		}
		if p := f.pkg(); p != "internal/mem" && p != "internal/wire" && !unsafeFiles[f.path] {
			t.Errorf("%s imports unsafe: only internal/mem, internal/wire and the files named in internal/lint may", f.path)
		}
	}
}

// testedFromOutside are packages whose tests use only exported identifiers.
var testedFromOutside = []string{"internal/engine", "combiners", "algorithms"}

func TestPackagesAreTestedFromOutside(t *testing.T) {
	for _, f := range all(t) {
		if f.test && slices.Contains(testedFromOutside, f.pkg()) &&
			!strings.HasSuffix(f.ast.Name.Name, "_test") {
			t.Errorf("%s is of package %s itself: its tests are of another package", f.path,
				f.ast.Name.Name)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range all(t) {
		limit := 400
		if f.test {
			limit = 600
		}
		if f.lines > limit && !f.generated() {
			t.Errorf("%s has %d lines: split it, the limit is %d", f.path, f.lines, limit)
		}
	}
}

func TestForbiddenCalls(t *testing.T) {
	forbidden := map[string]string{
		"time.Sleep":        "wait for what is waited for",
		"msgpack.Unmarshal": "decode behind a guard",
		"gob.NewDecoder":    "gob trusts its input",
	}
	for _, f := range all(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok {
				if x.Name+"."+s.Sel.Name == "faults.Set" && !f.test {
					t.Errorf(
						"%s calls faults.Set: a released program must not inject faults", f.path)
				}
				if why := forbidden[x.Name+"."+s.Sel.Name]; why != "" {
					t.Errorf("%s calls %s.%s: %s", f.path, x.Name, s.Sel.Name, why)
				}
			}
			return true
		})
	}
}

// TestControlAsksNoWallClock: code that decides which process is alive or newer uses durations and
// counters, because a wall clock may be set back.
func TestControlAsksNoWallClock(t *testing.T) {
	wall := map[string]bool{"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true}
	for _, f := range all(t) {
		switch f.pkg() {
		case "master", "worker", "internal/client", "internal/control", "internal/membership",
			"internal/transport/mesh":
		default:
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !wall[s.Sel.Name] || f.generated() {
				return true
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "time" { // time.Unix creates a time
				t.Errorf("%s asks for %s: count, or measure a span", f.path, s.Sel.Name)
			}
			return true
		})
	}
}

func TestExportedIdentifiersHaveComments(t *testing.T) {
	for _, f := range all(t) {
		if f.test || strings.HasPrefix(f.path, "internal/") || strings.HasPrefix(f.path, "test/") ||
			f.generated() {
			continue // users import neither internal packages nor those that tests share
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", f.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil &&
						ts.Doc == nil {
						t.Errorf("%s: type %s has no comment", f.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver reports whether a method's type is exported. For functions it returns true.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func TestPackagesHaveComments(t *testing.T) {
	documented := map[string]bool{}
	seen := map[string]bool{}
	for _, f := range all(t) {
		if f.test {
			continue
		}
		seen[f.pkg()] = true
		if f.ast.Doc != nil {
			documented[f.pkg()] = true
		}
	}
	for pkg := range seen {
		if !documented[pkg] {
			t.Errorf("package %q has no comment", pkg)
		}
	}
}
