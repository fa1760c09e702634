package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// Entry is a program the command line knows by name.
type Entry struct {
	engine.Registered
	Help string

	certificate certificate // what --verify checks by, or nil
	err         error       // what is wrong with the program, one line each
}

// NewEntry makes the entry of a program whose parameters are its fields.
func NewEntry[V, M any](name, help string, p pregel.Program[V, M]) Entry {
	return Entry{Registered: engine.Register(name, p), Help: help, err: engine.CheckProgram(p)}
}

// builtins are the programs that come with superstep.
func builtins() []Entry {
	bfs := NewEntry("bfs", "breadth-first search: the parent or the level of every vertex", algorithms.BFS{})
	levels := NewEntry("", "", algorithms.BFSLevels{})
	parents := bfs.New
	bfs.Parameters = append(slices.Clone(bfs.Parameters), engine.Parameter{
		Name: "output", Default: "parent", Help: "what to compute", Type: "string", Words: []string{"parent", "level"},
	})
	bfs.New = func(values map[string]string, find engine.Find) (engine.Program, error) {
		if values["output"] == "level" {
			return levels.New(values, find)
		}
		return parents(values, find)
	}
	all := []Entry{
		bfs,
		NewEntry("sssp", "single-source shortest paths, by weights that are not negative", algorithms.SSSP[float64]{}),
		NewEntry("pagerank", "PageRank, with the rank of vertices without out-edges spread over all", algorithms.PageRank{}),
		NewEntry("wcc", "weakly connected components", algorithms.WCC{}),
	}
	for i := range all {
		all[i].certificate = certificates[all[i].Name]
		all[i].KeepWeights = false
	}
	return all
}

// checkEntries reports what is wrong with the programs of a binary beside the built-in ones: one error for each problem.
func checkEntries(builtin, own []Entry) (problems []error) {
	taken := map[string]string{}
	for _, e := range builtin {
		taken[e.Name] = "a built-in program has this name"
	}
	for _, e := range own {
		refuse := func(err error) { problems = append(problems, fmt.Errorf("program %q: %w", e.Name, err)) }
		switch {
		case !programName.MatchString(e.Name):
			refuse(errors.New("a program's name has letters, digits, _ . and -, and begins with none of . and -"))
		case taken[e.Name] != "":
			refuse(errors.New(taken[e.Name]))
		default:
			taken[e.Name] = "another program has this name"
		}
		if joined, ok := e.err.(interface{ Unwrap() []error }); ok {
			for _, err := range joined.Unwrap() {
				refuse(err)
			}
		} else if e.err != nil {
			refuse(e.err)
		}
	}
	return problems
}

var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// entry finds a program by name.
func (a *app) entry(name string) (Entry, error) {
	var names []string
	for _, e := range a.entries {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return Entry{}, usagef("there is no algorithm %q: the algorithms are %s", name, strings.Join(names, ", "))
}

// parameters reads -p key=value flags and checks what can be checked without a graph.
func (e Entry) parameters(flags []string) (map[string]string, error) {
	values, err := splitParameters(flags)
	if err != nil {
		return nil, err
	}
	if err := engine.Check(e.Parameters, values); err != nil {
		return nil, usagef("%s: %w", e.Name, err)
	}
	if _, err := e.New(values, nil); err != nil {
		return nil, usagef("%s: %w", e.Name, err)
	}
	return values, nil
}

// splitParameters reads -p key=value flags.
func splitParameters(flags []string) (map[string]string, error) {
	values := map[string]string{}
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("-p %s: expected key=value", f)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("-p %s: given twice", name)
		}
		values[name] = text
	}
	return values, nil
}
