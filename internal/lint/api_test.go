package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// apiLimits has the maximum number of exported identifiers of each public package: types, functions
// and constants, without methods. The API of a package should fit on one page of go doc.
var apiLimits = map[string]int{"": 38, "pregel": 44, "combiners": 19, "plan": 5}

// doorways are exported names that only the engine uses. They do not count.
var doorways = map[string]bool{
	"pregel.Erase": true,
}

func TestThePublicAPIIsSmall(t *testing.T) {
	exported := map[string][]string{}
	for _, f := range all(t) {
		if _, limited := apiLimits[f.pkg()]; !limited || f.test {
			continue
		}
		for _, name := range exports(f.ast) {
			if !doorways[f.pkg()+"."+name] {
				exported[f.pkg()] = append(exported[f.pkg()], name)
			}
		}
	}
	for pkg, limit := range apiLimits {
		names := exported[pkg]
		if slices.Sort(names); len(names) == 0 || len(names) > limit {
			t.Errorf("package %q exports %d identifiers, and may export 1 to %d: %v", pkg,
				len(names), limit, names)
		}
	}
}

// exports returns the exported package-level identifiers of a file.
func exports(f *ast.File) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					add(s.Names...)
				}
			}
		}
	}
	return names
}

// TestPublicTypesAreReal: public types are not aliases of internal types, because go doc would show
// neither their fields nor their methods.
func TestPublicTypesAreReal(t *testing.T) {
	for _, f := range all(t) {
		if f.test || slices.ContainsFunc(strings.Split(f.pkg(), "/"), func(dir string) bool {
			return dir == "internal" || dir == "test"
		}) {
			continue
		}
		internal := f.internal()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
				return true
			}
			ast.Inspect(spec.Type, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if p, ok := s.X.(*ast.Ident); ok && internal[p.Name] {
						t.Errorf("%s: %s is an alias of %s.%s, which is internal: declare the type",
							f.path, spec.Name.Name, p.Name, s.Sel.Name)
					}
				}
				return true
			})
			return true
		})
	}
}

// internal returns the last elements of the internal packages that a file imports.
func (f file) internal() map[string]bool {
	found := map[string]bool{}
	for _, path := range f.imports() {
		if strings.Contains(path, "/internal/") {
			found[path[strings.LastIndex(path, "/")+1:]] = true
		}
	}
	return found
}

// TestOptionsHavePublicTypes: other modules need the types of options to start masters and workers.
func TestOptionsHavePublicTypes(t *testing.T) {
	found := 0
	for _, f := range all(t) {
		if f.test || f.pkg() != "master" && f.pkg() != "worker" {
			continue
		}
		internal := f.internal()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Options" {
				return true
			}
			found++
			ast.Inspect(spec, func(n ast.Node) bool {
				if p, ok := n.(*ast.Ident); ok && internal[p.Name] {
					t.Errorf("%s: Options has a type of %s, which is internal", f.path, p.Name)
				}
				return true
			})
			return false
		})
	}
	if found != 2 {
		t.Errorf("found %d types Options, expected those of a master and of a worker", found)
	}
}
