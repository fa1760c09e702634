package algorithms_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// handles returns the reference graph with vertices numbered by VertexID, which breaks ties.
func (s sample) handles(t *testing.T) reference.Graph {
	twin := reference.Graph{N: s.twin.N, Weights: s.twin.Weights}
	for _, a := range s.twin.Arcs {
		twin.Arcs = append(twin.Arcs,
			[2]int{int(pregeltest.ID(t, s.graph, uint64(a[0]))), int(pregeltest.ID(t, s.graph,
				uint64(a[1])))})
	}
	return twin
}

func TestMSF(t *testing.T) {
	for s := range samples(t) {
		if s.twin.Directed {
			continue
		}
		twin := s.handles(t)
		want, total, chosen := make([][]algorithms.TreeEdge, twin.N), 0.0, reference.MSF(twin)
		for _, i := range chosen {
			u, v, w := twin.Arcs[i][0], twin.Arcs[i][1], twin.Weights[i]
			want[u] = append(want[u], algorithms.TreeEdge{To: pregel.VertexID(v), Weight: w})
			want[v] = append(want[v], algorithms.TreeEdge{To: pregel.VertexID(u), Weight: w})
			total += w
		}
		res := everyWay(t, s, algorithms.MSF{})
		tree := map[int]pregel.VertexID{} // the lowest VertexID of each component
		component := reference.WCC(twin)
		for u := twin.N - 1; u >= 0; u-- {
			tree[component[u]] = pregel.VertexID(u)
		}
		for u, edges := range want {
			slices.SortFunc(edges,
				func(a, b algorithms.TreeEdge) int { return cmp.Compare(a.To, b.To) })
			got := res.Value(pregel.VertexID(u))
			if len(got.Edges)+len(edges) > 0 && !reflect.DeepEqual(got.Edges, edges) {
				t.Errorf("%s: vertex %d has the edges %v, want %v", s.name, u, got.Edges, edges)
			}
			if want := tree[component[u]]; got.Tree != want {
				t.Errorf("%s: vertex %d is in tree %d, want %d", s.name, u, got.Tree, want)
			}
		}
		if w := res.Aggregates["weight"].(float64); math.Abs(w-total) > 1e-9 {
			t.Errorf("%s: the weight is %g, want %g", s.name, w, total)
		}
		if n := res.Aggregates["trees"].(int64); int(n) != twin.N-len(chosen) {
			t.Errorf("%s: %d trees, want %d", s.name, n, twin.N-len(chosen))
		}
	}
	_, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0>1"), algorithms.MSF{})
	refused(t, err, "expected an undirected one for msf")
}

// TestMSFOfALongPath: the number of supersteps is logarithmic in the length of a path.
func TestMSFOfALongPath(t *testing.T) {
	var list []superstep.Edge
	for i := range uint64(20_000) {
		// the lightest edges form a single chain
		list = append(list, superstep.Edge{From: i, To: i + 1, Weight: float64(i)})
	}
	g := pregeltest.FromEdges(t, list,
		superstep.LoadOptions{Undirected: true, Weights: superstep.Float64})
	res, err := superstep.Run(t.Context(), g, algorithms.MSF{})
	if err != nil || res.Supersteps > 200 || res.Aggregates["trees"].(int64) != 1 {
		t.Errorf("%v supersteps, %v, %v", res.Supersteps, res.Aggregates, err)
	}
}

func TestMSFOnACluster(t *testing.T) {
	here, there := programtest.Load(t, programtest.Cluster(t, 2), "kronecker:scale=8",
		superstep.LoadOptions{Weights: superstep.Float64})
	programtest.Same(t, here, there, algorithms.MSF{}, superstep.Options{})
	here, there = programtest.Load(t, programtest.Cluster(t, 2), "grid:rows=9,columns=20")
	programtest.Same(t, here, there, algorithms.MSF{}, superstep.Options{})
}
