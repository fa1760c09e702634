// Package pregeltest tests vertex programs. [Graph] makes a graph of one line of text, [Matrix]
// runs a program in many ways and compares the results, [CheckCombiner] checks a combiner.
//
//	func TestHops(t *testing.T) {
//		g := pregeltest.Graph(t, "0-1 1-2 2-3 7")
//		res := pregeltest.Matrix(t, g, Hops{Source: pregeltest.ID(t, g, 0)})
//		if got := pregeltest.Values(res); !slices.Equal(got, []int64{0, 1, 2, 3, math.MaxInt64}) {
//			t.Error(got)
//		}
//	}
//
// It stands above package superstep, whose Run it calls. Read graph.go first, then matrix.go.
package pregeltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
)

// Graph makes a graph of words separated by blanks:
//
//	0-1      an edge both ways
//	0>1      an edge from 0 to 1
//	0>1:2.5  the same with a weight; edges without one weigh 1 if any has one
//	7        a vertex, which need not have an edge
//
// With any '>' the graph is directed, and 0-1 is an edge each way. A word given twice is two edges.
// The graph is closed when the test ends.
func Graph(t testing.TB, words string, options ...superstep.LoadOptions) *superstep.Graph {
	t.Helper()
	if len(options) > 1 {
		t.Fatalf("pregeltest: at most one options struct")
	}
	var o superstep.LoadOptions
	if len(options) == 1 {
		o = options[0]
	}
	list, vertices, weighted, err := parse(words)
	if err != nil {
		t.Fatalf("pregeltest.Graph: %v", err)
	}
	o.Vertices = append(o.Vertices, vertices...)
	o.Undirected = o.Undirected || !o.Directed && !strings.Contains(words, ">")
	if o.Weights == superstep.IfAny && weighted {
		o.Weights = superstep.Float64
	}
	if o.Weights == superstep.NoWeights {
		weighted = false
	}
	var all []superstep.Edge
	for _, e := range list {
		if !weighted {
			e.edge.Weight = 0 // no weight
		}
		if all = append(all, e.edge); e.both && !o.Undirected && e.edge.From != e.edge.To {
			all = append(all,
				superstep.Edge{From: e.edge.To, To: e.edge.From, Weight: e.edge.Weight})
		}
	}
	return FromEdges(t, all, o)
}

// FromEdges is superstep.FromEdges for tests: the graph is closed when the test ends.
func FromEdges(
	t testing.TB, list []superstep.Edge, options ...superstep.LoadOptions,
) *superstep.Graph {
	t.Helper()
	g, err := superstep.FromEdges(context.Background(), list, options...)
	if err != nil {
		t.Fatalf("pregeltest.FromEdges: %v", err)
	}
	t.Cleanup(g.Close)
	return g
}

// word is an edge as it was written.
type word struct {
	edge superstep.Edge
	both bool
}

var form = regexp.MustCompile(`^(\d+)(?:([->])(\d+)(?::(.+))?)?$`)

func parse(words string) (list []word, vertices []uint64, weighted bool, err error) {
	for _, field := range strings.Fields(words) {
		m := form.FindStringSubmatch(field)
		if m == nil {
			return nil, nil, false, unknown(field)
		}
		w := word{both: m[2] == "-", edge: superstep.Edge{Weight: 1}}
		var wrong [3]error
		w.edge.From, wrong[0] = strconv.ParseUint(m[1], 10, 64)
		if m[3] == "" {
			vertices = append(vertices, w.edge.From)
		} else {
			w.edge.To, wrong[1] = strconv.ParseUint(m[3], 10, 64)
			if m[4] != "" {
				w.edge.Weight, wrong[2] = strconv.ParseFloat(m[4], 64)
				weighted = true
			}
			list = append(list, w)
		}
		if errors.Join(wrong[:]...) != nil {
			return nil, nil, false, unknown(field)
		}
	}
	return list, vertices, weighted, nil
}

func unknown(field string) error {
	return fmt.Errorf("found %q, expected a vertex, or an edge such as 0-1, 0>1 or 0>1:2.5", field)
}

// ID returns the VertexID of the vertex with an input id. The test fails if there is none.
func ID(t testing.TB, g *superstep.Graph, label uint64) pregel.VertexID {
	t.Helper()
	id, ok := g.Vertex(label)
	if !ok {
		t.Fatalf("pregeltest.ID: the graph has no vertex %d", label)
	}
	return id
}

// Values returns the values of all vertices, ordered by their input ids.
func Values[V any](res *superstep.Result[V]) []V {
	byLabel := maps.Collect(res.All())
	list := make([]V, 0, len(byLabel))
	for _, label := range slices.Sorted(maps.Keys(byLabel)) {
		list = append(list, byLabel[label])
	}
	return list
}
