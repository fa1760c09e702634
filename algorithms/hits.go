package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// HITS finds hubs and authorities (Kleinberg 1999): good hubs link to a good authority, and a good
// hub links to good authorities. Each vector of scores has length 1. Each parallel edge and each
// loop counts. In an undirected graph both scores become equal. Without edges all scores are 0.
//
// An iteration is two supersteps with messages along all edges, forwards and backwards. It stops
// after Iterations, or when the authorities change by less than Tolerance in length. With only
// Iterations it runs that many; with only Tolerance at most 100; with neither until the change is
// below 1e-6, at most 100.
type HITS struct {
	Iterations int     `param:"iterations" default:"100" zero:"refused" help:"largest number of iterations"`
	Tolerance  float64 `param:"tolerance" default:"1e-6" unless:"iterations" help:"stop when the length of the change of the authorities is less; 0 if only iterations is given"`
}

// Standing is the result for a vertex.
type Standing struct{ Hub, Authority float64 }

// last is the phase in which scores are only divided by their length.
const last = 1

// Validate checks the limits.
func (p HITS) Validate(*pregel.GraphInfo) error {
	return checkLimits(p.Iterations, p.Tolerance, "0 or more")
}

// Combiner adds the scores of the neighbours.
func (HITS) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

// Traits returns the traits. Direction: authorities are sums along in-edges, hubs along out-edges.
// MaxSupersteps: one before the first iteration, two for each, and the one that divides the hubs.
// Aggregators: the change in the last iteration, and the sums that it is computed from. Columns:
// the scores before the division by their length.
func (p HITS) Traits() pregel.Traits {
	return traits{
		Direction: pregel.Either, MaxSupersteps: mostSupersteps(p.Iterations, 2, 2),
		Aggregators: aggregates{squares, moves, step}, Columns: columns{raw},
	}
}

// Report returns the statistics for reports.
func (HITS) Report() pregel.Report[Standing] {
	return scoredBy("authority", func(s Standing) float64 { return s.Authority })
}

// Init gives all vertices the same hub score.
func (p HITS) Init(v *pregel.Vertex[Standing, float64]) {
	s := Standing{Hub: 1 / math.Sqrt(float64(v.NumVertices()))}
	v.Set(s)
	p.send(v, pregel.Out, s.Hub)
}

// Compute computes authorities from hubs in odd supersteps, and hubs from authorities in even ones.
func (p HITS) Compute(v *pregel.Vertex[Standing, float64], sum float64) {
	s, length := v.Ref(), length(v)
	x := raw.Of(v) / length
	if v.Superstep()%2 == 0 {
		moves.Add(v, (x-s.Authority)*(x-s.Authority))
		s.Authority = x
		p.send(v, pregel.Out, sum/length)
		return
	}
	if s.Hub = x; v.Phase() != last {
		p.send(v, pregel.In, sum/length)
	}
}

func (HITS) send(v *pregel.Vertex[Standing, float64], d pregel.Direction, x float64) {
	raw.Set(v, x)
	squares.Add(v, x*x)
	v.SendAlong(d, x)
}

// Limits returns the largest number of iterations, and the change below which a run ends earlier.
func (p HITS) Limits() (iterations int, tolerance float64) {
	return p.Iterations, p.Tolerance
}

// Coordinate sets the last phase for the superstep that divides the hubs, and ends the run after
// it.
func (p HITS) Coordinate(c *pregel.Coordinator) {
	limit, tolerance := p.Iterations, p.Tolerance
	switch {
	case c.Phase == last:
		endRun(c, step.Value(c) < tolerance, true, tolerance > 0)
	case c.Superstep < 3 || c.Superstep%2 == 0:
	case stepLength(c) < tolerance || c.Superstep > 2*limit:
		c.SetPhase(last)
	}
}
