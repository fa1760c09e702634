package lint

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// surface has the packages for authors of programs, with the maximum number of exported identifiers
// of each: types, functions, constants, methods and fields.
var surface = map[string]int{
	"": 117, "pregel": 170, "combiners": 20, "plan": 7, "pregel/pregeltest": 10, "master": 41,
	"worker": 25,
}

// unshown are identifiers without an example, and the reasons.
var unshown = map[string]string{
	"pregel.Erase":        "the engine calls it",
	"pregel.Plan.Steps":   "package plan and the engine read it",
	"pregel.Block.First":  "Block.ID adds it up; algorithms/wcc.go goes by it",
	"pregel.Block.Stride": "likewise",
}

// TestExportedIdentifiersStandInExamples: every exported identifier of these packages is used in an
// Example function, in a program beside it, or in a program below examples.
func TestExportedIdentifiersStandInExamples(t *testing.T) {
	used, exported := uses(t), map[string][]string{}
	for name, o := range identifiers(t) {
		pkg, _, _ := strings.Cut(name, ".")
		exported[pkg] = append(exported[pkg], name)
		switch why := unshown[name]; {
		case pkg == "master" || pkg == "worker":
		case slices.Contains([]string{"String", "Error", "Unwrap"}, o.Name()):
			// fmt and errors call these
		case why == "" && !used[o]:
			t.Errorf("no example uses %s", name)
		case why != "" && used[o]:
			t.Errorf("an example uses %s, which unshown lists", name)
		}
	}
	for pkg, limit := range surface {
		if got := len(exported[pkg]); got != limit {
			t.Errorf("package %q exports %d identifiers, expected %d: %v", pkg, got, limit,
				slices.Sorted(slices.Values(exported[pkg])))
		}
	}
}

// compiled imports the packages in surface, and everything that examples import.
var compiled types.Importer

// identifiers returns the exported identifiers of these packages, as package.Name or
// package.Type.Member.
func identifiers(t *testing.T) map[string]types.Object {
	found := map[string]types.Object{}
	for pkg := range surface {
		p, err := compiled.Import(pathOf(pkg))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			found[pkg+"."+name] = o
			if named, ok := o.Type().(*types.Named); ok && isType(o) {
				addMembers(found, pkg+"."+name+".", named)
			}
		}
	}
	return found
}

func isType(o types.Object) bool {
	_, ok := o.(*types.TypeName)
	return ok
}

// addMembers adds the methods and fields of a type, including those of embedded unexported types.
// An interface's methods are covered by the interface.
func addMembers(found map[string]types.Object, prefix string, of *types.Named) {
	for m := range of.Methods() {
		if m.Exported() {
			found[prefix+m.Name()] = m
		}
	}
	s, ok := of.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for f := range s.Fields() {
		in := f.Type()
		if p, ok := in.(*types.Pointer); ok {
			in = p.Elem()
		}
		named, ok := in.(*types.Named)
		switch {
		case f.Exported():
			found[prefix+f.Name()] = f
		case f.Embedded() && ok:
			addMembers(found, prefix, named)
		}
	}
}

// uses returns the identifiers that files of examples use, outside of tests.
func uses(t *testing.T) map[types.Object]bool {
	dirs := map[string][]*ast.File{}
	for _, f := range all(t) {
		if f.shows() {
			key := f.pkg() + " " + f.ast.Name.Name
			dirs[key] = append(dirs[key], f.ast)
		}
	}
	load(t)
	used := map[types.Object]bool{}
	for key, files := range dirs {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		// from files that were left out
		c := types.Config{Importer: compiled, Error: func(error) {}}
		_, _ = c.Check(key, fileSet, files, info)
		for _, file := range files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && isTest(f) {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && info.Uses[id] != nil {
						note(used, origin(info.Uses[id]))
					}
					return true
				})
			}
		}
	}
	return used
}

// note marks an identifier as used, and the types of it or of its results.
func note(used map[types.Object]bool, o types.Object) {
	used[o] = true
	of := []types.Type{o.Type()}
	if f, ok := o.Type().(*types.Signature); ok {
		of = nil
		for v := range f.Results().Variables() {
			of = append(of, v.Type())
		}
		if f.Recv() != nil {
			of = append(of, f.Recv().Type())
		}
	}
	for _, t := range of {
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			used[named.Origin().Obj()] = true
		}
	}
}

// origin returns the generic function or field of an instantiated one.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// shows reports whether a file belongs to an example.
func (f file) shows() bool {
	return strings.HasPrefix(f.path, "examples/") || hasExample(f.ast)
}

func hasExample(f *ast.File) bool {
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
	})
}

func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz"},
		func(kind string) bool {
			return strings.HasPrefix(f.Name.Name, kind)
		})
}

// listed has packages and everything that they import, compiled. One call of go list lists all
// packages that the tests need, because it takes long: those in surface, those that examples
// import, and those of TestTheLibraryIsLight.
type listed struct {
	files map[string]string // export data files of the compiler
	// for each package, the packages outside the standard library that it links
	outside map[string][]string
}

var packages = sync.OnceValues(func() (*listed, error) {
	list, err := parsed()
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for pkg := range surface {
		wanted[pathOf(pkg)] = true
	}
	for pkg := range foreign {
		wanted[pathOf(pkg)] = true
	}
	for _, f := range list {
		if f.shows() {
			for _, path := range f.imports() {
				wanted[path] = true
			}
		}
	}
	const format = `{{.ImportPath}} {{or .Export "-"}} {{.Standard}} {{join .Deps " "}}`
	run := exec.Command("go", append([]string{"list", "-e", "-deps", "-export", "-f", format},
		slices.Sorted(maps.Keys(wanted))...)...)
	run.Dir, run.Stderr = "../..", os.Stderr
	out, err := run.Output()
	if err != nil {
		return nil, err
	}
	found := &listed{map[string]string{}, map[string][]string{}}
	standard, links := map[string]bool{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		found.files[words[0]], standard[words[0]] = words[1], words[2] == "true"
		links[words[0]] = words[3:]
	}
	for pkg, deps := range links {
		for _, path := range deps {
			if !standard[path] && path != module && !strings.HasPrefix(path, module+"/") {
				found.outside[pkg] = append(found.outside[pkg], path)
			}
		}
	}
	return found, nil
})

// pathOf returns the import path of a package of the module.
func pathOf(pkg string) string { return strings.TrimSuffix(module+"/"+pkg, "/") }

// load sets compiled.
func load(t *testing.T) {
	t.Helper()
	list, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	compiled = importer.ForCompiler(fileSet, "gc", func(path string) (io.ReadCloser, error) {
		if file := list.files[path]; file != "" && file != "-" {
			return os.Open(file)
		}
		return nil, fmt.Errorf("go list -export has no file of %s", path)
	})
}
