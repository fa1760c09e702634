package superstep_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/job"
)

// otherwise has the options without a tagged field in job.Spec, and the flags that correspond to
// them.
var otherwise = map[string]string{
	"directed":      "--directed: a job says one of three",
	"undirected":    "--undirected, likewise",
	"weights":       "--weights of load, which has no tag of a flag",
	"partitions":    "--partitions, of the command line: a master is told the grid",
	"grid":          "--grid, likewise",
	"vertices":      "ids in memory; --vertices is a file",
	"threads":       "--threads: each worker has its own",
	"progress":      "a function",
	"log":           "a function",
	"zero":          "-p NAME=0",
	"columns":       "--column",
	"checkpoints":   "--checkpoints and the flags beside it",
	"keep-trace":    "the trace is in the result",
	"trace":         "--trace FILE",
	"max-expand":    "no option: files of the program's own are not untrusted",
	"source-column": "no option: of tables",
	"target-column": "no option: of tables",
	"weight-column": "no option: of tables",
	"vertex-column": "no option: of tables",
	"delimiter":     "no option: of tables",
	"header":        "no option: of tables",
	"ids":           "no option: of tables",
	"check-files":   "no option: of files that workers see",
	"trust-files":   "no option: of files that workers see",
}

// hyphens returns the flag name of an option with a Go name.
func hyphens(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// flags returns the fields of a part of job.Spec for users, by the names of their flags.
func flags(of reflect.Type) map[string]reflect.StructField {
	found := map[string]reflect.StructField{}
	for f := range of.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name := f.Tag.Get("flag")
		if name == "" {
			name = strings.ReplaceAll(key, "_", "-")
		}
		if f.Tag.Get("help") != "" && name != "-" {
			found[name] = f
		}
	}
	return found
}

// TestOptionsAreNamedAsFlags: an option and its flag have the same name and the same values.
func TestOptionsAreNamedAsFlags(t *testing.T) {
	used := map[string]bool{}
	without := func(name, of string) {
		if used[name] = true; otherwise[name] == "" {
			t.Errorf("%s has %s, and no other description of a run has this name", of, name)
		}
	}
	for _, pair := range []struct{ options, spec reflect.Type }{
		{reflect.TypeFor[superstep.LoadOptions](), reflect.TypeFor[job.Source]()},
		{reflect.TypeFor[superstep.Options](), reflect.TypeFor[job.Options]()},
	} {
		known := flags(pair.spec)
		for f := range pair.options.Fields() {
			name := hyphens(f.Name)
			flag, ok := known[name]
			if delete(known, name); !ok || otherwise[name] != "" {
				without(name, pair.options.String())
				continue
			}
			if words := flag.Tag.Get("words"); words != "" {
				checkWords(t, f.Name, strings.Split(words, ","))
			}
		}
		for name := range known {
			without(name, pair.spec.String())
		}
	}
	for name := range otherwise {
		if !used[name] {
			t.Errorf("%s is an exception and needs none", name)
		}
	}
}

// checkWords checks a type's constants against the values of its flag. A constant's name is the
// value with a capital, followed by the type's name if this is a plural.
func checkWords(t *testing.T, name string, words []string) {
	t.Helper()
	suffix := name
	if !strings.HasSuffix(name, "s") {
		suffix = ""
	}
	want := make([]string, len(words))
	for i, word := range words {
		want[i] = strings.ToUpper(word[:1]) + word[1:] + suffix
	}
	got := constants(t, name)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the constants of type %s are %v, expected %v", name, got, want)
	}
}

// constants returns the constants of a type that graph.go or run.go declares.
func constants(t *testing.T, of string) (names []string) {
	t.Helper()
	for _, path := range []string{"graph.go", "run.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				return true
			}
			typ := ""
			for _, s := range d.Specs {
				s := s.(*ast.ValueSpec)
				if id, ok := s.Type.(*ast.Ident); ok {
					typ = id.Name
				}
				if len(s.Values) == 1 {
					if call, ok := s.Values[0].(*ast.CallExpr); ok {
						typ = call.Fun.(*ast.Ident).Name
					}
				}
				if typ == of {
					names = append(names, s.Names[0].Name)
				}
			}
			return true
		})
	}
	return names
}
