package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Eigenvector finds the eigenvector centrality of vertices (Bonacich 1972): the score of a vertex
// is proportional to the sum of the scores of its in-neighbours, and the vector of scores has
// length 1. Each parallel edge and each loop counts. An undirected edge counts in both directions.
//
// It is a power iteration with A + I, as in networkx. A + I has the same eigenvectors as A, and the
// iteration also converges on bipartite graphs. Of several components the one with the largest
// eigenvalue keeps its scores; the others tend to 0. A graph without cycles has no such vector:
// scores move slowly to the ends of paths. Without edges all scores are equal.
//
// An iteration is a superstep with a message along every edge. It stops after Iterations, or when
// the scores change by less than Tolerance in length. With only Iterations it runs that many; with
// only Tolerance at most 100; with neither until the change is below 1e-6, at most 100.
type Eigenvector struct {
	Iterations int     `param:"iterations" default:"100" zero:"refused" help:"largest number of iterations"`
	Tolerance  float64 `param:"tolerance" default:"1e-6" unless:"iterations" help:"stop when the length of the change of the scores is less; 0 if only iterations is given"`
}

// eigenvalue is the estimate of the greatest eigenvalue of A from the last vector.
var eigenvalue = pregel.MaxOf("eigenvalue", 0.0).Persistent()

// Validate checks the limits.
func (p Eigenvector) Validate(*pregel.GraphInfo) error {
	return checkLimits(p.Iterations, p.Tolerance, "0 or more")
}

// Combiner adds the scores of the in-neighbours.
func (Eigenvector) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

// Traits returns the traits. MaxSupersteps: one before the first iteration, one for each, and the
// one that divides the last scores. Aggregators: the eigenvalue, the change in the last iteration,
// and the sums that they are computed from. Columns: the scores before the division by their
// length.
func (p Eigenvector) Traits() pregel.Traits {
	return traits{
		MaxSupersteps: mostSupersteps(p.Iterations, 1, 2),
		Aggregators:   aggregates{squares, moves, step, eigenvalue}, Columns: columns{raw},
	}
}

// Report returns the statistics for reports.
func (Eigenvector) Report() pregel.Report[float64] {
	return scored[float64]("eigenvector centrality")
}

// Init gives all vertices the same score.
func (p Eigenvector) Init(v *pregel.Vertex[float64, float64]) {
	x := 1 / math.Sqrt(float64(v.NumVertices()))
	v.Set(x)
	p.send(v, x)
}

// Compute divides the last score by the length, which is known only now. Then it adds the scores of
// the in-neighbours.
func (p Eigenvector) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	length := length(v)
	x := raw.Of(v) / length
	moves.Add(v, (x-v.Value())*(x-v.Value()))
	v.Set(x)
	p.send(v, x+sum/length)
}

func (Eigenvector) send(v *pregel.Vertex[float64, float64], x float64) {
	raw.Set(v, x)
	squares.Add(v, x*x)
	v.SendToAllNeighbors(x)
}

// Resend sends the undivided score again, when a run resumes from a checkpoint.
func (Eigenvector) Resend(v *pregel.Vertex[float64, float64]) { v.SendToAllNeighbors(raw.Of(v)) }

// Limits returns the largest number of iterations, and the change below which a run ends earlier.
func (p Eigenvector) Limits() (iterations int, tolerance float64) {
	return p.Iterations, p.Tolerance
}

// Coordinate ends the run after the last iteration. Superstep s has the scores of iteration s-1.
func (p Eigenvector) Coordinate(c *pregel.Coordinator) {
	if c.Superstep < 3 {
		return
	}
	eigenvalue.Replace(c, length(c)-1)
	limit, tolerance := p.Iterations, p.Tolerance
	endRun(c, stepLength(c) < tolerance, c.Superstep > limit+1, tolerance > 0)
}
