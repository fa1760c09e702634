package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/cluster"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// Find translates the input id of a vertex.
type Find = cluster.Find

// Entry is a program the command line knows by name.
type Entry struct {
	Name, Help string
	Parameters []engine.Parameter
	// New makes the program; find is nil when only its form is wanted, before there is a graph.
	New func(values map[string]string, find Find) (engine.Program, error)

	certificate certificate // what --verify checks by, or nil
	keepWeights bool        // a user's program may look at the weights of Edges
	err         error
}

// NewEntry makes the entry of a program whose parameters are its fields.
func NewEntry[V, M any](name, help string, p pregel.Program[V, M]) Entry {
	named := cluster.NewProgram(name, p)
	e := Entry{Name: name, Help: help, Parameters: named.Parameters, New: named.New, keepWeights: named.KeepWeights}
	_, e.err = engine.Erase(p)
	return e
}

// builtins are the programs that come with superstep.
func builtins() []Entry {
	bfs := NewEntry("bfs", "breadth-first search: the parent or the level of every vertex", algorithms.BFS{})
	levels := NewEntry("", "", algorithms.BFSLevels{})
	parents := bfs.New
	bfs.Parameters = append(slices.Clone(bfs.Parameters), engine.Parameter{
		Name: "output", Default: "parent", Help: "what to compute", Type: "string", Words: []string{"parent", "level"},
	})
	bfs.New = func(values map[string]string, find Find) (engine.Program, error) {
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
		all[i].keepWeights = false
	}
	return all
}

// known returns the programs that can be run: of those of one name the last, a user's before a built-in one.
func (a *app) known() []Entry {
	var all []Entry
	for i, e := range a.entries {
		if !slices.ContainsFunc(a.entries[i+1:], func(later Entry) bool { return later.Name == e.Name }) {
			all = append(all, e)
		}
	}
	return all
}

// entry finds a program by name.
func (a *app) entry(name string) (Entry, error) {
	var names []string
	for _, e := range a.known() {
		if e.Name == name {
			if e.err != nil {
				return e, fmt.Errorf("%s: %w", name, e.err)
			}
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
