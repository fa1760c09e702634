package library_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

// list is a graph as a set of input ids and a list of edges.
type list struct {
	vertices map[uint64]bool
	edges    []superstep.Edge
	directed bool
}

// same reports whether two edges have the same ends.
func (l *list) same(a, b superstep.Edge) bool {
	return a.From == b.From && a.To == b.To || !l.directed && a.From == b.To && a.To == b.From
}

// apply applies a delta in the simplest way.
func (l *list) apply(d pregel.Delta) {
	for _, id := range d.RemoveVertices {
		delete(l.vertices, id)
		l.edges = slices.DeleteFunc(l.edges,
			func(e superstep.Edge) bool { return e.From == id || e.To == id })
	}
	for _, gone := range d.RemoveEdges {
		l.edges = slices.DeleteFunc(l.edges, func(e superstep.Edge) bool { return l.same(e, gone) })
	}
	for _, id := range d.AddVertices {
		l.vertices[id] = true
	}
	for _, e := range d.AddEdges {
		l.vertices[e.From], l.vertices[e.To] = true, true
		l.edges = append(l.edges, e)
	}
}

func (l *list) load(t *testing.T, o superstep.LoadOptions) *superstep.Graph {
	t.Helper()
	for id := range l.vertices {
		o.Vertices = append(o.Vertices, id)
	}
	o.Directed, o.Undirected = l.directed, !l.directed
	g, err := superstep.FromEdges(t.Context(), l.edges, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func (l *list) ids() (ids []uint64) {
	for id := range l.vertices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// delta returns a random delta. Weights are multiples of 1/8, so sums are exact.
func (l *list) delta(rng *rand.Rand, removeVertices bool) (d pregel.Delta) {
	ids := l.ids()
	for _, e := range l.edges {
		if rng.IntN(5) == 0 {
			d.RemoveEdges = append(d.RemoveEdges, e)
		}
	}
	pick := func() uint64 {
		if rng.IntN(8) == 0 {
			return uint64(rng.IntN(2000)) // often a new vertex
		}
		return ids[rng.IntN(len(ids))]
	}
	for range len(l.edges) / 4 {
		d.AddEdges = append(d.AddEdges,
			superstep.Edge{From: pick(), To: pick(), Weight: float64(1+rng.IntN(80)) / 8})
	}
	d.AddVertices = []uint64{pick(), uint64(rng.IntN(3000)), 1 << 40, ids[0]}
	if removeVertices {
		for _, id := range ids {
			if id != ids[0] && rng.IntN(10) == 0 { // the first vertex is the source of searches
				d.RemoveVertices = append(d.RemoveVertices, id)
			}
		}
		d.RemoveEdges = slices.DeleteFunc(d.RemoveEdges,
			func(superstep.Edge) bool { return rng.IntN(2) == 0 })
	}
	return d
}

// TestApplyIsLoadingTheMergedGraph: programs have the same results on a graph with applied deltas
// and on the merged graph loaded from scratch. Each pair of settings occurs; SUPERSTEP_SOAK adds
// all combinations.
func TestApplyIsLoadingTheMergedGraph(t *testing.T) {
	seed := uint64(0)
	for row, grid := range []superstep.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}} {
		for i, duplicates := range []superstep.Duplicates{superstep.KeepDuplicates, superstep.FirstDuplicates, superstep.SumDuplicates} {
			for k := range 4 {
				directed, removeVertices := k&1 > 0, k&2 > 0
				if (row+i+k&1+k>>1)%3 > 0 && os.Getenv("SUPERSTEP_SOAK") == "" {
					continue
				}
				seed++
				o := superstep.LoadOptions{Grid: grid, Duplicates: duplicates, Weights: superstep.Float64}
				if seed%3 == 0 {
					o.SelfLoops = superstep.DropSelfLoops
				}
				t.Run(fmt.Sprintf("%v/directed=%t/%v/vertices=%t", grid, directed, duplicates,
					removeVertices), func(t *testing.T) {
					applyIsLoading(t, rand.New(rand.NewPCG(seed, 5)), o, directed, removeVertices)
				})
			}
		}
	}
}

func applyIsLoading(
	t *testing.T, rng *rand.Rand, o superstep.LoadOptions, directed, removeVertices bool,
) {
	l := &list{vertices: map[uint64]bool{}, directed: directed}
	var first pregel.Delta
	for range 400 {
		first.AddEdges = append(first.AddEdges, superstep.Edge{
			From: 3 * uint64(rng.IntN(150)), To: 3 * uint64(rng.IntN(30)),
			Weight: float64(1+rng.IntN(80)) / 8,
		})
	}
	l.apply(first)
	g := l.load(t, o)
	for range 3 {
		d := l.delta(rng, removeVertices)
		l.apply(d)
		next, err := g.Apply(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		g.Close() // the next graph keeps what it shares
		t.Cleanup(next.Close)
		g = next
		want := l.load(t, o)
		if g.NumVertices() != want.NumVertices() || g.NumEdges() != want.NumEdges() {
			t.Fatalf("%d vertices, %d edges, want %d, %d", g.NumVertices(), g.NumEdges(),
				want.NumVertices(), want.NumEdges())
		}
		comparePrograms(t, g, want, l.ids()[0])
		again, err := g.Repartition(t.Context(), superstep.LoadOptions{Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		if again.NumVertices() != want.NumVertices() || again.NumEdges() != want.NumEdges() {
			t.Errorf("repartitioned: %d vertices, %d edges", again.NumVertices(), again.NumEdges())
		}
		again.Close()
	}
}

// comparePrograms compares results on two graphs by input id.
func comparePrograms(t *testing.T, g, want *superstep.Graph, from uint64) {
	t.Helper()
	source := func(g *superstep.Graph) pregel.VertexID {
		id, ok := g.Vertex(from)
		if !ok {
			t.Fatalf("there is no vertex %d", from)
		}
		return id
	}
	equal := func(a, b float64) bool { return a == b }
	compareRuns(t, "levels", values(t, g, algorithms.BFSLevels{Source: source(g)}),
		values(t, want, algorithms.BFSLevels{Source: source(want)}),
		func(a, b int64) bool { return a == b })
	compareRuns(t, "sssp", values(t, g, algorithms.SSSP[float64]{Source: source(g)}),
		values(t, want, algorithms.SSSP[float64]{Source: source(want)}), equal)
	ranks := algorithms.PageRank{Iterations: 20}
	compareRuns(t, "pagerank", values(t, g, ranks), values(t, want, ranks),
		func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 })
	components := func(g *superstep.Graph) map[uint64]uint64 { // by the lowest input id of each
		of, least := values(t, g, algorithms.WCC{}), map[pregel.VertexID]uint64{}
		for label, c := range of {
			if l, ok := least[c]; !ok || label < l {
				least[c] = label
			}
		}
		named := map[uint64]uint64{}
		for label, c := range of {
			named[label] = least[c]
		}
		return named
	}
	compareRuns(t, "wcc", components(g), components(want), func(a, b uint64) bool { return a == b })
	levels, parents := values(t, g, algorithms.BFSLevels{Source: source(g)}),
		values(t, g, algorithms.BFS{Source: source(g)})
	for label, parent := range parents {
		if reached := levels[label] < math.MaxInt64; reached != (parent != pregel.None) ||
			reached && label != from && levels[g.Label(parent)] != levels[label]-1 {
			t.Errorf("bfs: the parent of %d on level %d is %d", label, levels[label], parent)
		}
	}
}

func values[V, M any](t *testing.T, g *superstep.Graph, p pregel.Program[V, M]) map[uint64]V {
	t.Helper()
	res, err := superstep.Run(t.Context(), g, p)
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]V{}
	for label, v := range res.All() {
		all[label] = v
	}
	return all
}

func compareRuns[V any](t *testing.T, name string, got, want map[uint64]V, equal func(a,
	b V) bool,
) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", name, len(got), len(want))
	}
	for label, w := range want {
		if v, ok := got[label]; !ok || !equal(v, w) {
			t.Errorf("%s: vertex %d has %v, %t, want %v", name, label, v, ok, w)
		}
	}
}

func TestApplyNamesWhatIsNotThere(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(),
		[]superstep.Edge{{From: 9, To: 4, Weight: 1}, {From: 4, To: 5}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for want, d := range map[string]pregel.Delta{
		"RemoveVertices: there is no vertex 7":                      {RemoveVertices: []uint64{4, 7}},
		"RemoveEdges: an edge from 9 to 6: there is no vertex 6":    {RemoveEdges: []superstep.Edge{{From: 9, To: 6}}},
		"RemoveEdges: an edge from 1 to 4: there is no vertex 1":    {RemoveEdges: []superstep.Edge{{From: 1, To: 4}}},
		"RemoveEdges: an edge from 11 to 11: there is no vertex 11": {RemoveEdges: []superstep.Edge{{From: 11, To: 11}}, AddVertices: []uint64{11}},
		"AddEdges: the edge from 9 to 5 has weight NaN, want a finite number": {
			AddEdges: []superstep.Edge{{From: 9, To: 5, Weight: math.NaN()}},
		},
	} {
		if _, err := g.Apply(t.Context(), d); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	without, err := g.Apply(t.Context(), pregel.Delta{RemoveVertices: []uint64{4}})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	if _, ok := without.Vertex(4); ok || without.NumVertices() != 2 || without.NumEdges() != 0 ||
		g.NumEdges() != 2 {
		t.Errorf("vertex 4 is there: %t; %d vertices, %d edges, and %d before", ok,
			without.NumVertices(), without.NumEdges(), g.NumEdges())
	}
	if _, err := without.Apply(t.Context(), pregel.Delta{RemoveVertices: []uint64{4}}); err == nil {
		t.Error("a vertex was removed twice")
	}
	back, err := without.Apply(t.Context(),
		pregel.Delta{AddEdges: []superstep.Edge{{From: 4, To: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	was, _ := g.Vertex(4)
	if id, ok := back.Vertex(4); !ok || id != was || back.NumVertices() != 4 {
		t.Errorf("vertex 4 is %d, %t of %d, was %d", id, ok, back.NumVertices(), was)
	}
	res, err := superstep.Run(t.Context(), without, algorithms.WCC{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for label := range res.Top(10, cmp.Compare) {
		if count++; label == 4 {
			t.Error("a removed vertex has a result")
		}
	}
	if _, ok := res.At(4); ok || count != 2 {
		t.Errorf("%d results, of vertex 4: %t", count, ok)
	}
}
