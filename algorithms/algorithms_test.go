package algorithms_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// sample is a graph in two representations: for programs, and for the reference implementations.
// Vertex i of the latter has the input id i.
type sample struct {
	name  string
	graph *superstep.Graph
	twin  reference.Graph
	alike bool // other samples are as small, or have the same oddity or shape
}

// samples yields small graphs with special cases: loops, parallel edges, edges of weight 0,
// vertices without edges or without out-edges, several components. Each graph is yielded directed
// and undirected. All tests use the same graphs.
func samples(t *testing.T) iter.Seq[sample] {
	t.Helper()
	all, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Values(all)
}

// made makes the samples.
var made = sync.OnceValues(func() (made []sample, err error) {
	type words struct {
		name     string
		vertices int
		arcs     [][2]int
		weights  []float64
		every    []bool // not alike if it is directed, or undirected, or both
	}
	all := []words{
		{"one vertex", 1, nil, nil, nil},
		{"a loop", 1, [][2]int{{0, 0}}, []float64{3}, []bool{true}},
		{"no edges", 3, nil, nil, nil},
		{"a pair and a vertex", 3, [][2]int{{0, 1}}, []float64{2}, nil},
		{"parallel edges", 2, [][2]int{{0, 1}, {0, 1}, {1, 0}}, []float64{5, 1, 0.5}, nil},
		{"edges of weight 0", 4, [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}}, []float64{0, 0, 0, 0.25}, nil},
		{"two components", 6, [][2]int{{0, 1}, {1, 2}, {4, 3}}, []float64{1, 1, 7}, []bool{false}},
		{"a detour that is shorter", 4, [][2]int{{0, 3}, {0, 1}, {1, 2}, {2, 3}}, []float64{10, 1, 2, 3}, nil},
	}
	star := words{name: "a star", vertices: 70, every: []bool{false}}
	path := words{name: "a path", vertices: 70, every: []bool{true}}
	for i := range 69 {
		star.arcs, star.weights = append(star.arcs, [2]int{i % 2 * (i + 1), (1 - i%2) * (i + 1)}),
			append(star.weights, float64(i%5))
		path.arcs, path.weights = append(path.arcs, [2]int{i, i + 1}),
			append(path.weights, float64(i%3)/2)
	}
	mixed := words{name: "a multigraph", vertices: 130, every: []bool{false, true}}
	for i := range 400 {
		mixed.arcs, mixed.weights = append(mixed.arcs, [2]int{i * i % 130, i * 7 % 97}),
			append(mixed.weights, float64(i%9)/4)
	}
	all = append(all, star, path, mixed)
	for _, w := range all {
		for _, directed := range []bool{false, true} {
			o := superstep.LoadOptions{Directed: directed, Undirected: !directed, Weights: superstep.Float64}
			var list []superstep.Edge
			for i, a := range w.arcs {
				list = append(list,
					superstep.Edge{From: uint64(a[0]), To: uint64(a[1]), Weight: w.weights[i]})
			}
			for v := range w.vertices {
				o.Vertices = append(o.Vertices, uint64(v))
			}
			g, err := superstep.FromEdges(context.Background(), list, o)
			if err != nil {
				return nil, err
			}
			made = append(made, sample{
				fmt.Sprintf("%s, directed %t", w.name, directed), g,
				reference.Graph{N: w.vertices, Arcs: w.arcs, Weights: w.weights, Directed: directed},
				!slices.Contains(w.every, directed),
			})
		}
	}
	return made, nil
})

// sources yields source vertices: the first, the middle and the last.
func (s sample) sources(t *testing.T) iter.Seq2[int, pregel.VertexID] {
	return func(yield func(int, pregel.VertexID) bool) {
		for _, v := range []int{0, s.twin.N / 2, s.twin.N - 1} {
			if !yield(v, pregeltest.ID(t, s.graph, uint64(v))) {
				return
			}
		}
	}
}

func values[V, M any](t *testing.T, s sample, p pregel.Program[V, M]) []V {
	t.Helper()
	return pregeltest.Values(one(t, s, p))
}

// one runs a program on a sample with default options.
func one[V, M any](t *testing.T, s sample, p pregel.Program[V, M]) *superstep.Result[V] {
	t.Helper()
	res, err := superstep.Run(t.Context(), s.graph, p)
	if err != nil {
		t.Fatalf("%s: %T: %v", s.name, p, err)
	}
	return res
}

// everyWay runs a program on a sample with all deliveries and partitionings, or with one if other
// samples are like it.
func everyWay[V, M any](
	t *testing.T, s sample, p pregel.Program[V, M], same ...func(a, b V) bool,
) *superstep.Result[V] {
	t.Helper()
	if s.alike {
		return one(t, s, p)
	}
	return pregeltest.Matrix(t, s.graph, p, same...)
}

func equal[V any](t *testing.T, s sample, what string, got, want []V) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %s are %v, want %v", s.name, what, got, want)
	}
}

func TestBFSLevels(t *testing.T) {
	for s := range samples(t) {
		for v, id := range s.sources(t) {
			equal(t, s, fmt.Sprintf("levels from %d", v),
				values(t, s, algorithms.BFSLevels{Source: id}), reference.BFSLevels(s.twin, v))
		}
	}
}

// TestBFSIsATree: every reached vertex has a parent one level nearer to the source, and an edge
// from it. Unreached vertices have no parent.
func TestBFSIsATree(t *testing.T) {
	for s := range samples(t) {
		edge := map[[2]int]bool{}
		for _, a := range s.twin.Arcs {
			edge[a] = true
			edge[[2]int{a[1], a[0]}] = edge[[2]int{a[1], a[0]}] || !s.twin.Directed
		}
		for v, id := range s.sources(t) {
			level := reference.BFSLevels(s.twin, v)
			for u, parent := range values(t, s, algorithms.BFS{Source: id}) {
				if level[u] == math.MaxInt64 {
					if parent != pregel.None {
						t.Errorf("%s from %d: vertex %d is not reached, and has parent %d", s.name,
							v, u, parent)
					}
					continue
				}
				p := int(s.graph.Label(parent))
				if good := p == v && u == v || u != v && level[p] == level[u]-1 &&
					edge[[2]int{p, u}]; !good {
					t.Errorf("%s from %d: vertex %d has parent %d", s.name, v, u, p)
				}
			}
		}
	}
}

func TestSSSP(t *testing.T) {
	for s := range samples(t) {
		for v, id := range s.sources(t) {
			want := reference.SSSP(s.twin, v)
			equal(t, s, fmt.Sprintf("distances from %d", v),
				values(t, s, algorithms.SSSP[float64]{Source: id}), want)
			for u, hop := range values(t, s, algorithms.SSSPTree[float64]{Source: id}) {
				if hop.Dist != want[u] || (hop.From == pregel.None) != math.IsInf(want[u], 1) {
					t.Errorf("%s from %d: vertex %d has %+v, want the distance %g", s.name, v, u,
						hop, want[u])
				}
			}
		}
	}
}

func TestSSSPRefusesNegativeWeights(t *testing.T) {
	g := pregeltest.Graph(t, "0>1:2 1>2:-0.5")
	_, err := superstep.Run(t.Context(), g, algorithms.SSSP[float64]{})
	if err == nil || !strings.HasSuffix(err.Error(),
		"the edge from 1 to 2 has weight -0.5: no weight may be negative") {
		t.Errorf("the error is %v", err)
	}
}

func TestWCC(t *testing.T) {
	for s := range samples(t) {
		component, want := reference.WCC(s.twin), map[int]pregel.VertexID{}
		for v, c := range component {
			id := pregeltest.ID(t, s.graph, uint64(v))
			if least, ok := want[c]; !ok || id < least {
				want[c] = id
			}
		}
		for v, got := range values(t, s, algorithms.WCC{}) {
			if got != want[component[v]] {
				t.Errorf("%s: vertex %d is in component %d, want %d", s.name, v, got,
					want[component[v]])
			}
		}
	}
}

func TestPageRank(t *testing.T) {
	for s := range samples(t) {
		for _, p := range []algorithms.PageRank{{Iterations: 1}, {Iterations: 9}, {Damping: 0.85, Iterations: 9}, {Damping: 0.4, Iterations: 5}, {Damping: 1, Iterations: 3}} {
			damping := cmp.Or(p.Damping, 0.85)
			want := reference.PageRank(s.twin, damping, p.Iterations)
			for v, got := range values(t, s, p) {
				if math.Abs(got-want[v]) > 1e-14 {
					t.Fatalf("%s, %+v: the rank of %d is %g, want %g", s.name, p, v, got, want[v])
				}
			}
		}
	}
}

// TestPersonalisedPageRank computes ranks from one source and from several. Unreachable vertices
// have rank 0.
func TestPersonalisedPageRank(t *testing.T) {
	for s := range samples(t) {
		vertices, handles := s.given(t)
		for _, p := range []algorithms.PageRank{{Iterations: 5, Sources: handles[:1]}, {Iterations: 6, Damping: 0.7, Sources: handles}} {
			damping := cmp.Or(p.Damping, 0.85)
			want := reference.PageRank(s.twin, damping, p.Iterations, vertices[:len(p.Sources)]...)
			s := s
			s.alike = s.alike || len(p.Sources) == 1
			for v, got := range pregeltest.Values(everyWay(t, s, p, near)) {
				if !near(got, want[v]) {
					t.Fatalf("%s, %+v: the rank of %d is %g, want %g", s.name, p, v, got, want[v])
				}
			}
		}
		if sum := 0.0; s.twin.N > 3 {
			for id := range pregel.VertexID(s.twin.N) {
				handles = append(handles[:0:0], id)
			}
			for _, rank := range values(t, s, algorithms.PageRank{Sources: handles}) {
				sum += rank
			}
			if !near(sum, 1) {
				t.Errorf("%s: ranks add up to %g", s.name, sum)
			}
		}
	}
	g := pregeltest.Graph(t, "0>1 1>2")
	_, err := superstep.Run(t.Context(), g,
		algorithms.PageRank{Sources: []pregel.VertexID{1, 2, 1}})
	refused(t, err, "a source is given twice")
	_, err = superstep.Run(t.Context(), g,
		algorithms.PageRank{Sources: make([]pregel.VertexID, 1<<16+1)})
	refused(t, err, "there are 65537 sources, want at most 65536")
}

// TestPageRankStops: PageRank stops after its iterations, or when ranks change by less than the
// tolerance. Tolerance 0 means none if iterations are given, otherwise 1e-6.
func TestPageRankStops(t *testing.T) {
	g := pregeltest.Graph(t, "0>1 1>2 2>0 2>1 3>0")
	run := func(p algorithms.PageRank) (supersteps int, ended string) {
		res, err := superstep.Run(t.Context(), g, p)
		if err != nil {
			t.Fatal(err)
		}
		return res.Supersteps, res.Ended
	}
	for _, test := range []struct {
		p     algorithms.PageRank
		want  int
		ended string
	}{
		{algorithms.PageRank{Iterations: 50}, 51, "iterations"}, // it has no tolerance
		{algorithms.PageRank{Iterations: 50, Damping: 0.85}, 51, "iterations"},
		{algorithms.PageRank{Iterations: 7, Tolerance: 1e-300}, 8, "iterations"},
		{algorithms.PageRank{Iterations: 1, Tolerance: 3}, 2, "converged"},
		{algorithms.PageRank{Tolerance: 3}, 2, "converged"},
	} {
		if got, ended := run(test.p); got != test.want || ended != test.ended {
			t.Errorf("%+v: %d supersteps, ended %s, want %d, %s", test.p, got, ended, test.want,
				test.ended)
		}
	}
	swings, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1 0-2"),
		algorithms.PageRank{Damping: 1})
	if err != nil || swings.Supersteps != 101 || swings.Ended != "iterations" || swings.Converged {
		t.Errorf("ranks that swing: %+v, %v", swings, err)
	}
	supersteps := func(p algorithms.PageRank) int {
		n, _ := run(p)
		return n
	}
	all, loose := supersteps(algorithms.PageRank{}),
		supersteps(algorithms.PageRank{Tolerance: 1e-2})
	if same := supersteps(algorithms.PageRank{Tolerance: 1e-6}); all != same || loose >= all ||
		all > 101 {
		t.Errorf("%d supersteps by default, %d with tolerance 1e-6, %d with 1e-2", all, same, loose)
	}
}

func TestPageRankWithoutVertices(t *testing.T) {
	res, err := superstep.Run(context.Background(), pregeltest.FromEdges(t, nil),
		algorithms.PageRank{})
	if err != nil || res.Supersteps != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestPageRankRefuses(t *testing.T) {
	for want, p := range map[string]algorithms.PageRank{
		"damping is -0.1, want a number from 0 to 1":                                {Damping: -0.1},
		"damping is 1.5, want a number from 0 to 1":                                 {Damping: 1.5},
		"damping is NaN, want a number from 0 to 1":                                 {Damping: math.NaN()},
		"iterations is -1, want 1 or more":                                          {Iterations: -1},
		"tolerance is -1, want 0 or more":                                           {Tolerance: -1},
		"tolerance is NaN, want 0 or more":                                          {Tolerance: math.NaN()},
		"tolerance is +Inf, want a finite number":                                   {Tolerance: math.Inf(1)},
		"damping is 2, want a number from 0 to 1\niterations is -3, want 1 or more": {Damping: 2, Iterations: -3},
	} {
		if err := p.Validate(nil); err == nil || err.Error() != want {
			t.Errorf("%+v: the error is %v, want %s", p, err, want)
		}
		if _, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1"), p); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v is run: %v", p, err)
		}
	}
	for _, p := range []algorithms.PageRank{{}, {Damping: 1}, {Tolerance: math.MaxFloat64}} {
		if err := p.Validate(nil); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestSourcesThatAreNone: there is no default source. Vertex id 0 is an ordinary vertex, and None
// is no vertex.
func TestSourcesThatAreNone(t *testing.T) {
	g := pregeltest.Graph(t, "0>1:1 0>2:1")
	res, err := superstep.Run(t.Context(), g, algorithms.BFSLevels{})
	if err != nil || res.Value(0) != 0 {
		t.Errorf("the zero value: %v, %v", res, err)
	}
	for name, source := range map[string]pregel.VertexID{"the source is not a vertex": pregel.None, "source 3: the graph has vertices 0..2": 3} {
		_, err := superstep.Run(t.Context(), g, algorithms.BFS{Source: source})
		refused(t, err, name)
		_, err = superstep.Run(t.Context(), g, algorithms.BFSLevels{Source: source})
		refused(t, err, name)
		_, err = superstep.Run(t.Context(), g, algorithms.SSSP[float64]{Source: source})
		refused(t, err, name)
		_, err = superstep.Run(t.Context(), g, algorithms.SSSPTree[float64]{Source: source})
		refused(t, err, name)
	}
}

func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want %s", err, text)
	}
}
