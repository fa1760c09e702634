package algorithms

import (
	"fmt"

	"github.com/superstep-go/superstep/algorithms/internal/mode"
	"github.com/superstep-go/superstep/pregel"
)

// CDLP is community detection by label propagation (Raghavan 2007), in the deterministic variant of
// LDBC Graphalytics. The label of a vertex is its input id at first. In each iteration a vertex
// takes the most frequent label of its neighbours, or the least of several. Neighbours are in
// either direction and are counted by edges: twice with an edge each way, and once per parallel
// edge; a loop is an edge to itself. A vertex without neighbours keeps its label.
//
// A label is a vertex, and is written as in the input. If vertices have names, the least label is
// the first name. The vertex need not be in the community.
//
// All vertices take their labels at once. In some graphs, such as bipartite ones, labels may
// oscillate, so there is a limit of iterations. A run ends earlier if no label changes. An
// iteration is one superstep with a message along every edge.
//
// Many labels are counted without sorting: see [mode.Of]. It is a list program: pass it as
// pregel.List(CDLP{}).
type CDLP struct {
	Iterations int `param:"iterations" default:"10" zero:"refused" help:"largest number of iterations"`
}

// Validate checks the number of iterations.
func (p CDLP) Validate(*pregel.GraphInfo) error {
	if p.Iterations < 0 {
		return fmt.Errorf("iterations is %d, want 1 or more", p.Iterations)
	}
	return nil
}

var relabelled = pregel.SumOf[int64]("relabelled")

// Traits returns the traits. Direction: labels go along out-edges and in-edges. MaxSupersteps: one
// before the first iteration, and one for each. Aggregators: the number of vertices that took
// another label in the last iteration.
func (p CDLP) Traits() pregel.Traits {
	return traits{
		Direction: pregel.Both, MaxSupersteps: mostSupersteps(p.Iterations, 1, 1), InputIDs: true,
		Aggregators: aggregates{relabelled},
	}
}

// Report returns the statistics for reports.
func (CDLP) Report() pregel.Report[uint64] {
	return report[uint64]{Number: func(label uint64) uint64 { return label }}
}

// Coordinate ends the run if no label has changed. Superstep s computes iteration s.
func (p CDLP) Coordinate(c *pregel.Coordinator) {
	endRun(c, c.Superstep > 1 && relabelled.Value(c) == 0, c.Superstep > p.Iterations, false)
}

// Compute takes the most frequent label of the neighbours, and sends it to them.
func (p CDLP) Compute(v *pregel.Vertex[uint64, uint64], labels []uint64) {
	switch {
	case v.Superstep() == 0:
		v.Set(v.Label())
	case len(labels) > 0:
		if label := mode.Of(labels); label != v.Value() {
			v.Set(label)
			relabelled.Add(v, 1)
		}
	}
	if v.Superstep() < p.Iterations {
		v.SendToAllNeighbors(v.Value())
	}
}

// Resend sends the label again, when a run resumes from a checkpoint.
func (CDLP) Resend(v *pregel.Vertex[uint64, uint64]) { v.SendToAllNeighbors(v.Value()) }
