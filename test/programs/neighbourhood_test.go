package programs_test

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

type id = pregel.VertexID

// Clustering is the local clustering coefficient (LCC of Graphalytics): of the ordered pairs of a vertex's neighbours, in either direction,
// how many are joined by an edge from the one to the other. Loops and parallel edges do not count. Each vertex sends its neighbours
// the list of those its edges lead to.
type Clustering struct{}

func (Clustering) Compute(v *pregel.Vertex[float64, []id], lists [][]id) {
	out, all := others(v.OutEdges(), v.ID()), others(v.InEdges(), v.ID())
	all = append(all, out...)
	slices.Sort(all)
	all = slices.Compact(all)
	if v.Superstep() == 0 {
		for _, to := range all {
			v.Send(to, out)
		}
		return
	}
	joined := 0
	for _, list := range lists {
		for _, to := range list {
			if _, found := slices.BinarySearch(all, to); found {
				joined++
			}
		}
	}
	if d := len(all); d > 1 {
		v.Set(float64(joined) / float64(d*(d-1)))
	}
	v.VoteToHalt()
}

// others returns the vertices that edges lead to, but for one, rising, each once.
func others(edges iter.Seq[pregel.Edge], one id) (list []id) {
	for e := range edges {
		if e.To != one {
			list = append(list, e.To)
		}
	}
	return slices.Compact(list)
}

// Triangles counts those that a vertex is in, of an undirected graph without loops and parallel edges: of each edge's two ends the one of
// the lesser id, which is that of the higher degree, gets the list of the other.
type Triangles struct{}

var triangles = pregel.SumOf[int64]("triangles")

func (Triangles) Aggregators() []pregel.Aggregate { return []pregel.Aggregate{triangles} }

func (Triangles) Compute(v *pregel.Vertex[int64, []id], lists [][]id) {
	if v.Superstep() == 0 {
		var list []id
		for e := range v.Edges() {
			if e.To < v.ID() {
				list = append(list, e.To)
			}
		}
		for i, to := range list {
			v.Send(to, list[:i]) // of these each triangle has its least
		}
	}
	for _, list := range lists {
		n := int64(v.CountCommon(list))
		v.Set(v.Value() + n)
		triangles.Add(v, n)
	}
	v.VoteToHalt()
}

// Core is the k-core: the value of a vertex is whether it is in the largest part of the graph in which everyone has K neighbours, parallel
// edges each. A vertex that has less tells its neighbours, and goes.
type Core struct {
	K int64 `param:"k" default:"2" help:"neighbours that everyone has"`
}

func (Core) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (p Core) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(int64(v.OutDegree()))
	p.Compute(v, 0)
}

func (p Core) Compute(v *pregel.Vertex[int64, int64], gone int64) {
	v.Set(v.Value() - gone)
	if v.VoteToHalt(); v.Value() < p.K {
		v.Set(-1)
		v.SendToAllNeighbors(1)
		v.Finish()
	}
}

// Communities is community detection by label propagation (CDLP of Graphalytics): in each iteration a vertex takes the label that most
// of its edges lead to, of either direction, of equals the least. Labels are input ids.
type Communities struct {
	Iterations int `param:"iterations" default:"10"`
}

func (Communities) Direction() pregel.Direction { return pregel.Both }

func (p Communities) Compute(v *pregel.Vertex[uint64, uint64], labels []uint64) {
	if v.Superstep() == 0 {
		v.Set(v.Label())
	}
	slices.Sort(labels)
	for best := 0; len(labels) > 0; {
		n := 1
		for n < len(labels) && labels[n] == labels[0] {
			n++
		}
		if n > best {
			best = n
			v.Set(labels[0])
		}
		labels = labels[n:]
	}
	if v.Superstep() == p.Iterations {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value())
}

// plain is a graph as the twins see it: arcs, those of either direction, and of both each once and no loops among them in sets.
type plain struct {
	arcs, both       [][]int
	sets, neighbours []map[int]bool
}

func plainOf(t *testing.T, g *superstep.Graph) plain {
	p := plain{arcs: arcsOf(t, g)}
	p.both = slices.Clone(p.arcs)
	for u, list := range p.arcs {
		for _, v := range list {
			if g.IsDirected() {
				p.both[v] = append(slices.Clip(p.both[v]), u)
			}
		}
	}
	p.sets, p.neighbours = setsOf(p.arcs), setsOf(p.both)
	return p
}

func setsOf(lists [][]int) (sets []map[int]bool) {
	for u, list := range lists {
		set := map[int]bool{}
		for _, v := range list {
			set[v] = true
		}
		delete(set, u)
		sets = append(sets, set)
	}
	return sets
}

func (p plain) clustering() []float64 {
	values := make([]float64, len(p.sets))
	for v, set := range p.neighbours {
		joined, d := 0, len(set)
		for a := range set {
			for b := range set {
				if a != b && p.sets[a][b] {
					joined++
				}
			}
		}
		if d > 1 {
			values[v] = float64(joined) / float64(d*(d-1))
		}
	}
	return values
}

func (p plain) triangles() (n int64) {
	for a, set := range p.sets {
		for b := range set {
			for c := range set {
				if a < b && b < c && p.sets[b][c] {
					n++
				}
			}
		}
	}
	return n
}

func (p plain) core(k int64) []bool {
	in := slices.Repeat([]bool{true}, len(p.arcs))
	for again := true; again; {
		again = false
		for u, list := range p.arcs {
			n := int64(0)
			for _, v := range list {
				if in[v] {
					n++
				}
			}
			if in[u] && n < k {
				in[u], again = false, true
			}
		}
	}
	return in
}

func (p plain) communities(iterations int) []uint64 {
	labels := make([]uint64, len(p.arcs))
	for v := range labels {
		labels[v] = uint64(v)
	}
	for range iterations {
		next := slices.Clone(labels)
		for u, list := range p.both {
			counts := map[uint64]int{}
			for _, v := range list {
				counts[labels[v]]++
			}
			best := 0
			for label, n := range counts {
				if n > best || n == best && label < next[u] {
					best, next[u] = n, label
				}
			}
		}
		labels = next
	}
	return labels
}

func TestNeighbourhoods(t *testing.T) {
	for name, g := range pregeltest.Graphs(t, 6) {
		want := plainOf(t, g)
		if got := pregeltest.Values(pregeltest.Matrix(t, g, pregel.List(Clustering{}))); !slices.Equal(got, want.clustering()) {
			t.Errorf("%s: coefficients %v, expected %v", name, got, want.clustering())
		}
		if got := pregeltest.Values(pregeltest.Matrix(t, g, pregel.List(Communities{Iterations: 5}))); !slices.Equal(got, want.communities(5)) {
			t.Errorf("%s: communities %v, expected %v", name, got, want.communities(5))
		}
		if g.IsDirected() {
			continue
		}
		for k := range int64(6) {
			in := want.core(k)
			for v, n := range pregeltest.Values(pregeltest.Matrix(t, g, Core{K: k})) {
				if n >= k != in[v] {
					t.Errorf("%s: vertex %d in the %d-core: %t, expected %t", name, v, k, n >= k, in[v])
				}
			}
		}
	}
}

// TestGraphalytics compares with the outputs that LDBC Graphalytics expects of its examples.
func TestGraphalytics(t *testing.T) {
	for name, kind := range map[string]superstep.Kind{"example-directed": superstep.Directed, "example-undirected": superstep.Undirected} {
		name = filepath.Join("..", "..", "algorithms", "reference", "testdata", name)
		g, err := superstep.Load(t.Context(), name+".e", superstep.LoadOptions{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		coefficients := pregeltest.Matrix(t, g, pregel.List(Clustering{}))
		communities := pregeltest.Matrix(t, g, pregel.List(Communities{Iterations: 2}))
		for label, want := range outputs(t, name+"-LCC") {
			if got, ok := coefficients.At(label); !ok || !pregeltest.Within[float64](1e-15)(got, want) {
				t.Errorf("%s: vertex %d has coefficient %g, expected %g", name, label, got, want)
			}
		}
		for label, want := range outputs(t, name+"-CDLP") {
			if got, ok := communities.At(label); !ok || float64(got) != want {
				t.Errorf("%s: vertex %d is in community %d, expected %g", name, label, got, want)
			}
		}
	}
}

// outputs reads a file of vertices and their values.
func outputs(t *testing.T, name string) map[uint64]float64 {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]float64{}
	for line := range strings.Lines(string(text)) {
		var label uint64
		var value float64
		if _, err := fmt.Sscan(line, &label, &value); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		all[label] = value
	}
	if len(all) < 9 {
		t.Fatalf("%s: %d vertices", name, len(all))
	}
	return all
}

func TestTriangles(t *testing.T) {
	options := superstep.LoadOptions{DropSelfLoops: true, Duplicates: superstep.FirstDuplicate, Kind: superstep.Undirected}
	for _, name := range []string{"kronecker:scale=8", "uniform:vertices=300,degree=9", "path:vertices=9"} {
		g, err := superstep.Load(t.Context(), name, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		sum := int64(0)
		for _, n := range pregeltest.Values(pregeltest.Matrix(t, g, pregel.List(Triangles{}))) {
			sum += n
		}
		if want := plainOf(t, g).triangles(); sum != want {
			t.Errorf("%s: %d triangles, expected %d", name, sum, want)
		}
	}
}

func TestNeighbourhoodsOnACluster(t *testing.T) {
	here, there := programtest.Load(t, cluster(t), "kronecker:scale=7")
	programtest.Same(t, here, there, pregel.List(Clustering{}), superstep.Options{})
	programtest.Same(t, here, there, pregel.List(Triangles{}), superstep.Options{})
	programtest.Same(t, here, there, Core{K: 5}, superstep.Options{})
	programtest.Same(t, here, there, pregel.List(Communities{Iterations: 4}), superstep.Options{})
}
