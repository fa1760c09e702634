package programs_test

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

type id = pregel.VertexID

// Clustering is the local clustering coefficient of an undirected graph: how many of the pairs of a vertex's neighbours are joined.
// Loops and parallel edges do not count. Each neighbour sends the list of its own.
type Clustering struct{}

func (Clustering) Compute(v *pregel.Vertex[float64, []id], lists [][]id) {
	var own []id // rising, each once
	for e := range v.Edges() {
		if e.To != v.ID() && (len(own) == 0 || e.To != own[len(own)-1]) {
			own = append(own, e.To)
		}
	}
	if v.Superstep() == 0 {
		for _, to := range own {
			v.Send(to, own)
		}
		return
	}
	joined := 0
	for _, list := range lists {
		last := -1
		for i, e := range v.Common(list) {
			if i != last && e.To != v.ID() { // an edge parallel to the last, and a loop
				joined++
			}
			last = i
		}
	}
	if d := len(own); d > 1 {
		v.Set(float64(joined) / float64(d*(d-1)))
	}
	v.VoteToHalt()
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

// Communities is community detection by label propagation (CDLP of Graphalytics), undirected: in each iteration a vertex takes the label
// that most of its edges lead to, of equals the least. Labels are input ids.
type Communities struct {
	Iterations int `param:"iterations" default:"10"`
}

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

// plain is a graph as the twins see it: arcs, each once and no loops among them in sets.
type plain struct {
	arcs [][]int
	sets []map[int]bool
}

func plainOf(t *testing.T, g *superstep.Graph) plain {
	p := plain{arcs: arcsOf(t, g)}
	for u, list := range p.arcs {
		set := map[int]bool{}
		for _, v := range list {
			set[v] = v != u
		}
		delete(set, u)
		p.sets = append(p.sets, set)
	}
	return p
}

func (p plain) clustering() []float64 {
	values := make([]float64, len(p.sets))
	for v, set := range p.sets {
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
		for u, list := range p.arcs {
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
		if g.IsDirected() {
			continue
		}
		want := plainOf(t, g)
		if got := pregeltest.Values(pregeltest.Matrix(t, g, pregel.List(Clustering{}))); !slices.Equal(got, want.clustering()) {
			t.Errorf("%s: coefficients %v, expected %v", name, got, want.clustering())
		}
		for k := range int64(6) {
			in := want.core(k)
			for v, n := range pregeltest.Values(pregeltest.Matrix(t, g, Core{K: k})) {
				if n >= k != in[v] {
					t.Errorf("%s: vertex %d in the %d-core: %t, expected %t", name, v, k, n >= k, in[v])
				}
			}
		}
		if got := pregeltest.Values(pregeltest.Matrix(t, g, pregel.List(Communities{Iterations: 5}))); !slices.Equal(got, want.communities(5)) {
			t.Errorf("%s: communities %v, expected %v", name, got, want.communities(5))
		}
	}
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
	here, there := load(t, cluster(t), "kronecker:scale=7")
	twins(t, here, there, pregel.List(Clustering{}), superstep.Options{})
	twins(t, here, there, pregel.List(Triangles{}), superstep.Options{})
	twins(t, here, there, Core{K: 5}, superstep.Options{})
	twins(t, here, there, pregel.List(Communities{Iterations: 4}), superstep.Options{})
}
