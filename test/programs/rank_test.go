package programs_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// Rank is personalised PageRank: a walker starts over at one of the sources with probability 1-Damping, and at vertices without
// edges.
type Rank struct {
	Sources    []pregel.VertexID `param:"sources" help:"where walkers start"`
	Damping    float64           `param:"damping" default:"0.85" help:"probability to go on"`
	Iterations int               `param:"iterations" default:"20"`
}

var stranded = pregel.SumOf[float64]("stranded")

func (Rank) Combiner() pregel.Combiner[float64]        { return combiners.Sum[float64]() }
func (Rank) Aggregators() []pregel.Aggregate           { return []pregel.Aggregate{stranded} }
func (p Rank) Init(v *pregel.Vertex[float64, float64]) { p.spread(v, p.share(v.ID())) }

func (p Rank) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	p.spread(v, p.share(v.ID())*(1-p.Damping+p.Damping*stranded.Value(v))+p.Damping*sum)
}

// share is a vertex's share of the sources.
func (p Rank) share(id pregel.VertexID) float64 {
	n := 0
	for _, source := range p.Sources {
		if source == id {
			n++
		}
	}
	return float64(n) / float64(len(p.Sources))
}

func (p Rank) spread(v *pregel.Vertex[float64, float64], rank float64) {
	v.Set(rank)
	switch degree := v.OutDegree(); {
	case v.Superstep() == p.Iterations:
		v.VoteToHalt()
	case degree == 0:
		stranded.Add(v, rank)
	default:
		v.SendToAllNeighbors(rank / float64(degree))
	}
}

// rankTwin is Rank of the vertices 0 to n-1, by a matrix of arcs.
func rankTwin(n int, arcs [][]int, sources []int, damping float64, iterations int) []float64 {
	start, rank := make([]float64, n), make([]float64, n)
	for _, s := range sources {
		start[s] += 1 / float64(len(sources))
	}
	copy(rank, start)
	for range iterations {
		next := make([]float64, n)
		for u, x := range rank {
			for _, v := range arcs[u] {
				next[v] += damping * x / float64(len(arcs[u]))
			}
			for v := range start {
				next[v] += (1 - damping) * x * start[v]
				if len(arcs[u]) == 0 {
					next[v] += damping * x * start[v]
				}
			}
		}
		rank = next
	}
	return rank
}

func TestRank(t *testing.T) {
	same := pregeltest.Within[float64](1e-12)
	for name, g := range pregeltest.Graphs(t, 4) {
		n := g.NumVertices()
		sources := []int{n / 2, 0, n / 2}
		p := Rank{Damping: 0.7, Iterations: 6}
		for _, s := range sources {
			p.Sources = append(p.Sources, pregeltest.ID(t, g, uint64(s)))
		}
		want := rankTwin(n, arcsOf(t, g), sources, p.Damping, p.Iterations)
		if got := pregeltest.Values(pregeltest.Matrix(t, g, p, same)); !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
	here, there := programtest.Load(t, cluster(t), "kronecker:scale=8")
	p := Rank{Damping: 0.5, Iterations: 10}
	for label := range uint64(9) {
		p.Sources = append(p.Sources, pregeltest.ID(t, here, label*20))
	}
	res := programtest.Same(t, here, there, p, superstep.Options{Deterministic: true})
	sum := 0.0
	for _, x := range res.All() {
		sum += x
	}
	if !same(sum, 1) {
		t.Errorf("ranks add up to %s", strconv.FormatFloat(sum, 'g', -1, 64))
	}
	if _, err := superstep.Run(t.Context(), there, Rank{Sources: []pregel.VertexID{0, pregel.None}}); err == nil ||
		err.Error() != "superstep: Rank: parameter sources: element 2 of 2: the graph has no vertex with handle 18446744073709551615" {
		t.Errorf("the error is %v", err)
	}
}
