package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// PageRank gives each vertex the probability that a random surfer is at it: with probability Damping one follows an
// out-edge, else one jumps anywhere; from a vertex without out-edges one always jumps. Ranks add up to 1.
//
// It stops after Iterations, or when the ranks' L1 change is less than Tolerance, whichever comes first. With only
// Iterations it runs just as many; with only Tolerance at most 100; with neither until the change is below 1e-6, and at most 100.
type PageRank struct {
	Damping    float64 `param:"damping" default:"0.85" zero:"refused" help:"probability of following an edge"` // 0 means 0.85
	Iterations int     `param:"iterations" help:"how many iterations at most"`
	Tolerance  float64 `param:"tolerance" help:"stop when the L1 change of the ranks is less"`
}

// Validate refuses what is no probability and no limit. Damping 1 never jumps.
func (p PageRank) Validate() error {
	var errs []error
	if !(p.Damping >= 0 && p.Damping <= 1) {
		errs = append(errs, fmt.Errorf("damping is %g, want a number from 0 to 1", p.Damping))
	}
	return errors.Join(append(errs, checkLimits(p.Iterations, p.Tolerance))...)
}

var (
	dangling = pregel.SumOf[float64]("dangling")
	change   = pregel.SumOf[float64]("change")
)

// Combiner adds the shares of in-neighbours.
func (PageRank) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

// Aggregators are the rank of vertices without out-edges, and the L1 change of the last iteration.
func (PageRank) Aggregators() []pregel.Aggregate { return []pregel.Aggregate{dangling, change} }

// Score ranks vertices, of which reports name the first.
func (PageRank) Score(rank float64) float64 { return rank }

// Init gives every vertex the same rank.
func (p PageRank) Init(v *pregel.Vertex[float64, float64]) {
	p.spread(v, 1/float64(v.NumVertices()))
}

// Compute takes the shares of the in-neighbours, and of the vertices without out-edges, for the new rank.
func (p PageRank) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	n := float64(v.NumVertices())
	damping := p.EffectiveDamping()
	rank := (1-damping)/n + damping*(sum+dangling.Value(v)/n)
	if p.watched() {
		change.Add(v, math.Abs(rank-v.Value()))
	}
	p.spread(v, rank)
}

// ComputeBlock is Compute for the vertices of b.Run.
func (p PageRank) ComputeBlock(b *pregel.Block[float64, float64]) {
	n := float64(b.Worker.NumVertices)
	damping := p.EffectiveDamping()
	base := (1-damping)/n + damping*dangling.Value(b.Worker)/n
	moved, loose := 0.0, 0.0
	for run := b.Run; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		rank := base
		if b.Received>>i&1 != 0 {
			rank += damping * b.In[i]
		}
		moved += math.Abs(rank - b.Values[i])
		b.Values[i] = rank
		if d := b.OutDegrees[i]; d > 0 {
			b.Sent |= 1 << i
			b.Out[i] = rank / float64(d)
		} else {
			loose += rank
		}
	}
	change.Add(b.Worker, moved)
	dangling.Add(b.Worker, loose)
}

func (p PageRank) spread(v *pregel.Vertex[float64, float64], rank float64) {
	v.Set(rank)
	if d := v.OutDegree(); d > 0 {
		v.SendToAllNeighbors(rank / float64(d))
	} else {
		dangling.Add(v, rank)
	}
}

// EffectiveDamping returns the probability of following an edge: Damping, or its default where that is 0.
func (p PageRank) EffectiveDamping() float64 { return cmp.Or(p.Damping, 0.85) }

// Limits returns the number of iterations after which a run ends, and the change below which it ends before.
func (p PageRank) Limits() (iterations int, tolerance float64) {
	return limits(p.Iterations, p.Tolerance)
}

// watched reports whether the ranks' change may end the run.
func (p PageRank) watched() bool { return p.Tolerance > 0 || p.Iterations == 0 }

// Coordinate ends the run before the first superstep that would be one too many: superstep s computes iteration s.
func (p PageRank) Coordinate(c *pregel.Coordinator) {
	limit, tolerance := p.Limits()
	if c.Superstep > limit || c.Superstep > 1 && p.watched() && change.Value(c) < tolerance {
		c.Halt()
	}
}
