package algorithms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/verify"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// karate is Zachary's karate club (1977). For each vertex from 2 it lists the neighbours with
// smaller numbers. Vertices are numbered from 1.
const karate = `2:1 3:1,2 4:1,2,3 5:1 6:1 7:1,5,6 8:1,2,3,4 9:1,3 10:3 11:1,5,6 12:1 13:1,4 14:1,2,3,4 17:6,7 18:1,2 20:1,2 22:1,2
26:24,25 28:3,24,25 29:3 30:24,27 31:2,9 32:1,25,26,29 33:3,9,15,16,19,21,23,24,30,31,32
34:9,10,14,15,16,19,20,21,23,24,27,28,29,30,31,32,33`

func karateEdges(t *testing.T) (list []superstep.Edge) {
	for _, word := range strings.Fields(karate) {
		var u, v uint64
		to, ends, _ := strings.Cut(word, ":")
		for _, from := range strings.Split(ends, ",") {
			if _, err := fmt.Sscan(to+" "+from, &u, &v); err != nil {
				t.Fatal(err)
			}
			list = append(list, superstep.Edge{From: v, To: u})
		}
	}
	if len(list) != 78 {
		t.Fatalf("%d edges, want 78", len(list))
	}
	return list
}

// modularityOf computes modularity by its definition: the sum, over all pairs of vertices in the
// same community, of their weight minus the expected weight.
func modularityOf[C comparable](n int, list []superstep.Edge, community []C) float64 {
	a, degree, total := make([]float64, n*n), make([]float64, n), 0.0
	for _, e := range list {
		a[int(e.From)*n+int(e.To)] += e.Weight
		a[int(e.To)*n+int(e.From)] += e.Weight // a loop counts twice
	}
	for i := range a {
		degree[i/n] += a[i]
		total += a[i]
	}
	if total == 0 {
		return 0
	}
	q := 0.0
	for u := range n {
		for v := range n {
			if community[u] == community[v] {
				q += a[u*n+v] - degree[u]*degree[v]/total
			}
		}
	}
	return q / total
}

// louvainTwin is Louvain's method by Blondel et al. on a matrix. It moves one vertex after the
// other, in random order.
func louvainTwin(rng *rand.Rand, n int, list []superstep.Edge) []int {
	a, of := make([][]float64, n), make([]int, n)
	for v := range a {
		a[v], of[v] = make([]float64, n), v
	}
	for _, e := range list {
		a[e.From][e.To] += e.Weight
		a[e.To][e.From] += e.Weight
	}
	for {
		size := len(a)
		degree, sums, community, total := make([]float64, size), make([]float64, size),
			make([]int, size), 0.0
		for v := range a {
			for _, w := range a[v] {
				degree[v] += w
				total += w
			}
			sums[v], community[v] = degree[v], v
		}
		moved := false
		for again := true; again; {
			again = false
			for _, v := range rng.Perm(size) {
				joins := make([]float64, size)
				for u, w := range a[v] {
					if u != v {
						joins[community[u]] += w
					}
				}
				own := community[v]
				sums[own] -= degree[v]
				best := own
				for c := range joins {
					if gain := func(c int) float64 { return joins[c] - degree[v]*sums[c]/total }; joins[c] > 0 && gain(c) > gain(best)+1e-12 {
						best = c
					}
				}
				sums[best] += degree[v]
				if community[v] = best; best != own {
					again, moved = true, true
				}
			}
		}
		if !moved {
			return of
		}
		names := map[int]int{}
		for v, c := range community {
			if _, ok := names[c]; !ok {
				names[c] = len(names)
			}
			community[v] = names[c]
		}
		for v := range of {
			of[v] = community[of[v]]
		}
		next := make([][]float64, len(names))
		for c := range next {
			next[c] = make([]float64, len(names))
		}
		for v := range a {
			for u, w := range a[v] {
				next[community[v]][community[u]] += w
			}
		}
		a = next
	}
}

// planted returns a graph of groups of vertices. within and across are the mean numbers of a
// vertex's edges to its own group and to others.
func planted(seed uint64, groups, size int, within, across float64) (list []superstep.Edge) {
	rng := rand.New(rand.NewPCG(seed, 4))
	n := groups * size
	for v := range n {
		for u := range v {
			p := across / float64(n-size)
			if u%groups == v%groups {
				p = within / float64(size-1)
			}
			if rng.Float64() < p {
				list = append(list,
					superstep.Edge{From: uint64(u), To: uint64(v), Weight: float64(1 +
						rng.IntN(3))})
			}
		}
	}
	return list
}

// listed loads an undirected graph with all vertices below n.
func listed(
	t *testing.T, n int, list []superstep.Edge, weights superstep.LoadOptions,
) *superstep.Graph {
	t.Helper()
	weights.Undirected = true
	for v := range n {
		weights.Vertices = append(weights.Vertices, uint64(v))
	}
	return pregeltest.FromEdges(t, list, weights)
}

// communities runs Louvain. It checks the reported modularity against the definition.
func communities(
	t *testing.T, n int, list []superstep.Edge, g *superstep.Graph,
) ([]pregel.VertexID, float64) {
	t.Helper()
	res, err := superstep.Run(t.Context(), g, algorithms.Louvain{})
	if err != nil {
		t.Fatal(err)
	}
	found := pregeltest.Values(res)
	q := res.Aggregates["modularity"].(float64)
	if want := modularityOf(n, list, found); math.Abs(q-want) > 1e-12 {
		t.Errorf("the modularity is reported as %g, and is %g", q, want)
	}
	named, tuples, weights := make([]uint64, n), make([][2]uint64, 0, len(list)),
		make([]float64, 0, len(list))
	for v, c := range found {
		named[v] = g.Label(c)
	}
	for _, e := range list {
		tuples, weights = append(tuples, [2]uint64{e.From, e.To}), append(weights, e.Weight)
	}
	packed := edges.Pack(uint64(n), tuples, weights)
	defer packed.Close()
	if err := verify.Louvain(verify.Graph{Edges: packed, Vertices: n}, 1e-12, q,
		named); err != nil {
		t.Error(err)
	}
	return found, q
}

func TestLouvainOfTheKarateClub(t *testing.T) {
	list := karateEdges(t)
	g := pregeltest.FromEdges(t, list,
		superstep.LoadOptions{Undirected: true, Weights: superstep.NoWeights, Vertices: []uint64{0}})
	for i := range list {
		list[i].Weight = 1
	}
	// the known optimum
	if _, q := communities(t, 35, list, g); math.Abs(q-0.4197896) > 1e-6 {
		t.Errorf("the modularity is %g", q)
	}
}

// TestLouvainOfCases has graphs on which an earlier version stopped too early.
func TestLouvainOfCases(t *testing.T) {
	for _, test := range []struct {
		edges string
		want  float64
	}{
		{"0-1 1-2 0-2", 0},
		{"0-1 0-2", 0},
		{"1-0:0.1 2-0:0.7 1-1:0.3", 0.343},
		{"0-1 1-2 2-3", 1.0 / 6},
	} {
		res, err := superstep.Run(t.Context(), pregeltest.Graph(t, test.edges),
			algorithms.Louvain{})
		if err != nil {
			t.Fatal(err)
		}
		if q := res.Aggregates["modularity"].(float64); q < test.want-1e-3 {
			t.Errorf("%s: the modularity is %g, expected %g", test.edges, q, test.want)
		}
	}
}

func TestLouvainFindsWhatIsPlanted(t *testing.T) {
	const groups, size = 8, 20
	list := planted(1, groups, size, 12, 1)
	found, _ := communities(t, groups*size, list,
		listed(t, groups*size, list, superstep.LoadOptions{Weights: superstep.Float64}))
	for v, c := range found {
		if c != found[v%groups] || v < groups && slices.Index(found, c) != v {
			t.Fatalf("the communities are %v", found)
		}
	}
}

// anyGraph returns a random graph of 3 to 80 vertices: a tree, a sparse or dense graph, groups of
// vertices, or a path with shortcuts.
func anyGraph(seed uint64) (n int, list []superstep.Edge) {
	rng := rand.New(rand.NewPCG(seed, 45))
	n = 3 + rng.IntN(78)
	add := func(u, v int) {
		w := 1.0
		if seed%2 == 1 {
			w = float64(1 + rng.IntN(9))
		}
		list = append(list, superstep.Edge{From: uint64(u), To: uint64(v), Weight: w})
	}
	switch kind := seed / 2 % 5; kind {
	case 0, 1:
		for v := 1; v < n; v++ {
			if kind == 0 {
				add(rng.IntN(v), v)
				continue
			}
			if add(v-1, v); rng.IntN(3) == 0 {
				add(rng.IntN(v), v)
			}
		}
	case 2, 3:
		for range n + rng.IntN(3*n) {
			add(rng.IntN(n), rng.IntN(n))
		}
	default:
		groups := 2 + rng.IntN(6)
		for v := range n {
			for u := range v {
				if p := rng.Float64(); p < 0.03 || u%groups == v%groups && p < 0.5 {
					add(u, v)
				}
			}
		}
	}
	return n, list
}

// TestLouvainIsAsGoodAsOneVertexAfterTheOther: the modularity is never below the worst result of
// the sequential method with ten random orders.
func TestLouvainIsAsGoodAsOneVertexAfterTheOther(t *testing.T) {
	graphs, best, between := uint64(16), 0, 0
	if os.Getenv("SUPERSTEP_SOAK") != "" {
		graphs = 500
	}
	for seed := range graphs {
		n, list := anyGraph(seed)
		_, q := communities(t, n, list,
			listed(t, n, list, superstep.LoadOptions{Weights: superstep.Float64}))
		least, most := 1.0, -1.0
		for order := range uint64(10) {
			twin := modularityOf(n, list, louvainTwin(rand.New(rand.NewPCG(order, seed)), n, list))
			least, most = min(least, twin), max(most, twin)
		}
		switch {
		case q < least-1e-12:
			t.Errorf("seed %d: the modularity is %g, and by the twin %g to %g", seed, q, least,
				most)
		case q < most-1e-12:
			between++
		default:
			best++
		}
	}
	t.Logf("of %d graphs %d are as good as the best of ten orders or better, %d between the worst and the best", graphs, best, between)
}

func TestLouvainOfOddGraphs(t *testing.T) {
	for s := range samples(t) {
		if s.twin.Directed {
			_, err := superstep.Run(t.Context(), s.graph, algorithms.Louvain{})
			refused(t, err, "expected an undirected one for louvain")
			continue
		}
		var list []superstep.Edge
		for i, a := range s.twin.Arcs {
			list = append(list,
				superstep.Edge{From: uint64(a[0]), To: uint64(a[1]), Weight: s.twin.Weights[i]})
		}
		_, q := communities(t, s.twin.N, list, s.graph)
		alone := make([]int, s.twin.N)
		for v := range alone {
			alone[v] = v
		}
		if single := modularityOf(s.twin.N, list, alone); q < single-1e-12 {
			t.Errorf("%s: the modularity is %g, and %g of single vertices", s.name, q, single)
		}
	}
	for message, p := range map[string]algorithms.Louvain{
		"iterations is -1, want 1 or more":        {Iterations: -1},
		"tolerance is -1, want a number above 0":  {Tolerance: -1},
		"tolerance is NaN, want a number above 0": {Tolerance: math.NaN()},
	} {
		_, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1"), p)
		refused(t, err, message)
	}
	for _, w := range []string{"1e308", "1e200", "1e-200"} {
		_, err := superstep.Run(t.Context(),
			pregeltest.Graph(t, "0-1:"+w+" 1-2:"+w+" 3-4:"+w+" 3-3:"+w), algorithms.Louvain{})
		refused(t, err, "the weighted degrees add up to ")
	}
	_, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1:-1"), algorithms.Louvain{})
	refused(t, err, "no weight may be negative")
}

func TestLouvainInAllSettings(t *testing.T) {
	list := planted(3, 3, 6, 4, 1)
	want := pregeltest.Values(pregeltest.Matrix(t,
		listed(t, 18, list, superstep.LoadOptions{Weights: superstep.Float64}),
		algorithms.Louvain{}))
	res, err := superstep.Run(t.Context(),
		listed(t, 18, list, superstep.LoadOptions{Weights: superstep.Float32}),
		algorithms.Louvain{})
	if err != nil || !slices.Equal(pregeltest.Values(res), want) {
		t.Errorf("with weights of 32 bits: %v, %v, want %v", res, err, want)
	}
	rng := rand.New(rand.NewPCG(3, 6))
	for i := range list {
		list[i].Weight = rng.Float64()
	}
	// Sums of such weights depend on their order, but for deterministic runs.
	g := listed(t, 18, list, superstep.LoadOptions{Weights: superstep.Float64})
	want = nil
	for _, partitions := range []int{1, 2, 3, 7} {
		parted, err := g.Repartition(t.Context(), superstep.LoadOptions{Partitions: partitions})
		if err != nil {
			t.Fatal(err)
		}
		defer parted.Close()
		res, err := superstep.Run(t.Context(), parted, algorithms.Louvain{},
			superstep.Options{Threads: 2, Deterministic: true})
		if err != nil {
			t.Fatal(err)
		}
		if found := pregeltest.Values(res); want == nil {
			want = found
		} else if !slices.Equal(found, want) {
			t.Errorf("%d partitions: %v, want %v", partitions, found, want)
		}
	}
}

// TestLouvainLeavesAnEdgeForEachTwoCommunities checks the graph of the result: it has one edge per
// pair of adjacent communities.
func TestLouvainLeavesAnEdgeForEachTwoCommunities(t *testing.T) {
	list := planted(2, 6, 15, 8, 2)
	g := listed(t, 90, list, superstep.LoadOptions{Weights: superstep.Float64})
	res, err := superstep.Run(t.Context(), g, algorithms.Louvain{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]pregel.VertexID]float64{}
	for _, e := range list {
		u, _ := res.At(e.From)
		v, _ := res.At(e.To)
		if u != v {
			want[[2]pregel.VertexID{min(u, v), max(u, v)}] += e.Weight
		}
	}
	if n := res.NumEdges; len(want) == 0 || n != uint64(2*len(want)) {
		t.Errorf("the graph has %d arcs, want %d", n, 2*len(want))
	}
}

func TestLouvainOnACluster(t *testing.T) {
	conn := programtest.Cluster(t, 2)
	here, there := programtest.Load(t, conn, "kronecker:scale=5",
		superstep.LoadOptions{Undirected: true})
	programtest.Same(t, here, there, algorithms.Louvain{}, superstep.Options{})
	programtest.Same(t, here, there, algorithms.Louvain{Tolerance: 0.1, Iterations: 1},
		superstep.Options{})
}
