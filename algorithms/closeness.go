package algorithms

import (
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Closeness finds closeness and harmonic centrality, by the number of edges from other vertices to
// the vertex. Closeness is the inverse of the mean distance from the vertices that reach it, times
// their share of all others (Wasserman and Faust 1994, as in networkx). Harmonic centrality is the
// sum of 1/distance. Loops and parallel edges have no effect. A vertex that no other reaches has 0.
//
// Distances are from Sources, or from a sample of vertices (Eppstein and Wang 2004). Harmonic
// centrality is divided by the share of vertices in the sample; if the sample has all vertices,
// both are exact. 64 breadth-first searches run at once, with a bit of the message for each (Then
// et al. 2014). A vertex sends when a search reaches it. HyperBall estimates distances to all
// vertices.
type Closeness struct {
	Sources []ID `param:"sources" default:"" help:"vertices from which distances are measured (default: a sample)"`
	Samples int  `param:"samples" default:"256" unless:"sources" zero:"refused" help:"number of vertices in the sample, at most 65536"`
}

// Nearness is the result for a vertex.
type Nearness struct{ Closeness, Harmonic float64 }

// distances has sums over the searches that reached a vertex.
type distances struct {
	Reached, Sum, Own int // Own is the number of searches that started here
	Inverse           float64
}

var measured = pregel.NewVertexColumn[distances]("distances").Private()

func (p Closeness) origins() origins { return chosen(p.Sources, p.Samples) }

// Validate checks the number of samples.
func (p Closeness) Validate(*pregel.GraphInfo) error { return p.origins().check() }

// Plan chooses the sources, and runs a phase for each 64 of them.
func (p Closeness) Plan() pregel.Plan {
	return plan.Sequence(plan.Phase(p.origins()), plan.Repeat(noneLeft, plan.Phase(manySearches{})))
}

// Combiner is required, although there are no messages after the plan.
func (Closeness) Combiner() pregel.Combiner[uint64] { return combiners.OrBits[uint64]() }

// Traits returns the traits. Aggregators: whether the values are estimates.
func (Closeness) Traits() traits {
	return traits{Converges: true, Aggregators: aggregates{estimated}, Columns: columns{measured}}
}

// Coordinate reports whether the values are estimates.
func (p Closeness) Coordinate(c *pregel.Coordinator) { p.origins().tellEstimates(c) }

// Report returns the statistics for reports.
func (Closeness) Report() pregel.Report[Nearness] {
	return scoredBy("closeness", func(n Nearness) float64 { return n.Closeness })
}

// Compute computes the centralities from the sums.
func (p Closeness) Compute(v *pregel.Vertex[Nearness, uint64], _ uint64) {
	d, others := measured.Of(v), p.origins().count(v.NumVertices())
	if others -= d.Own; d.Reached > 0 {
		share := float64(d.Reached) / float64(others)
		v.Set(Nearness{
			Closeness: share * float64(d.Reached) / float64(d.Sum),
			Harmonic:  d.Inverse * float64(v.NumVertices()-1) / float64(others),
		})
	}
	v.VoteToHalt()
}

// manySearches runs the next 64 searches. The value of a vertex has a bit for each search that has
// reached it.
type manySearches struct{}

func (manySearches) Combiner() pregel.Combiner[uint64] { return combiners.OrBits[uint64]() }
func (manySearches) Traits() traits {
	return traits{Aggregators: aggregates{left}, Columns: columns{search, measured}}
}

func (manySearches) Init(v *pregel.Vertex[uint64, uint64]) {
	i := search.Of(v) - 1
	search.Set(v, i+1-64)
	if left.Add(v, i+1-64); i >= 0 && i < 64 {
		d := measured.Of(v)
		d.Own++
		measured.Set(v, d)
		v.Set(1 << i)
		v.SendToAllNeighbors(1 << i)
	}
	v.VoteToHalt()
}

func (manySearches) Compute(v *pregel.Vertex[uint64, uint64], from uint64) {
	if reached := from &^ v.Value(); reached != 0 {
		n, d := bits.OnesCount64(reached), measured.Of(v)
		d.Reached += n
		d.Sum += n * v.Superstep()
		d.Inverse += float64(n) / float64(v.Superstep())
		measured.Set(v, d)
		v.Set(v.Value() | reached)
		v.SendToAllNeighbors(reached)
	}
	v.VoteToHalt()
}
