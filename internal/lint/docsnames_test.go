package lint

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// goNames has the names that the module's packages declare.
type goNames struct {
	packages map[string]map[string]bool // exported names by package
	// fields and methods by type name, of all packages together
	members map[string]map[string]bool
	public  map[string]bool // packages that other modules import
}

func declaredNames(files []file) *goNames {
	g := &goNames{packages: map[string]map[string]bool{}, members: map[string]map[string]bool{}, public: map[string]bool{}}
	add := func(to map[string]map[string]bool, key, name string) {
		if to[key] == nil {
			to[key] = map[string]bool{}
		}
		to[key][name] = true
	}
	for _, f := range files {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		pkg := f.ast.Name.Name
		if !strings.Contains(f.path, "internal/") {
			g.public[pkg] = true
		}
		for _, name := range exports(f.ast) {
			add(g.packages, pkg, name)
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					if t := receiver(d.Recv.List[0].Type); t != "" {
						add(g.members, t, d.Name.Name)
					}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						for _, name := range membersOf(t.Type) {
							add(g.members, t.Name.Name, name)
						}
					}
				}
			}
		}
	}
	return g
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// membersOf returns the fields of a struct, or the methods of an interface. Embedded types begin
// with +.
func membersOf(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
		if len(f.Names) == 0 {
			names = append(names, receiver(f.Type), "+"+receiver(f.Type))
		}
	}
	return names
}

var (
	qualified = regexp.MustCompile(`(?:^|[^\w.$/"-])([a-z][a-z0-9]*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	member    = regexp.MustCompile(`(?:^|[^\w./"])([A-Z]\w*)\.([A-Z]\w*)`)
)

// check checks pkg.Name, pkg.Type.Member and Type.Member in code spans. In Go code it checks only
// pkg.Name of public packages.
func (g *goNames) check(p page) (found []finding) {
	for _, l := range p.lines {
		texts := l.spans
		if l.code == "go" {
			texts = []string{l.text}
		}
		for _, text := range texts {
			if l.code == "" {
				text = strings.TrimPrefix(text, path.Dir(text)+"/") // internal/engine.Job
			}
			for _, m := range qualified.FindAllStringSubmatch(text, -1) {
				declared := g.packages[m[1]]
				switch {
				case declared == nil || l.code == "go" && !g.public[m[1]]:
				case !declared[m[2]]:
					found = append(found, finding{l.number, "package " + m[1] + " has no " + m[2]})
				case m[3] != "" && !g.hasMember(m[2], m[3]):
					found = append(found, finding{l.number, m[1] + "." + m[2] + " has no " + m[3]})
				}
			}
			if l.code != "" {
				continue
			}
			for _, m := range member.FindAllStringSubmatch(text, -1) {
				if g.members[m[1]] != nil && !g.hasMember(m[1], m[2]) {
					found = append(found, finding{l.number, m[1] + " has no " + m[2]})
				}
			}
		}
	}
	return found
}

// hasMember reports whether a type, or a type that it embeds, has a field or method. An embedded
// type from another module may have any.
func (g *goNames) hasMember(t, name string) bool {
	if g.members[t] == nil || g.members[t][name] {
		return true
	}
	for member := range g.members[t] {
		if embedded, ok := strings.CutPrefix(member, "+"); ok && embedded != t &&
			g.hasMember(embedded, name) {
			return true
		}
	}
	return false
}
