package algorithms

import (
	"fmt"

	"github.com/superstep-go/superstep/algorithms/internal/mode"
	"github.com/superstep-go/superstep/pregel"
)

// CDLP is community detection by label propagation (Raghavan 2007) as LDBC Graphalytics has it,
// which is deterministic: the label of a vertex is its input id at first, and in each iteration the
// one that most of its neighbours have, of equals the least. Neighbours are those that edges of
// either direction join it to, and count by edges: twice if joined both ways, and as often as there
// are parallel edges; a loop is an edge to itself. A vertex without neighbours keeps its label.
//
// A label is a vertex, and is written as the input calls it. Where vertices have names, the least
// is the first by name. It need not be a member of its community.
//
// All vertices take their labels at once, so that parts of a graph may oscillate, such as bipartite
// ones: hence the limit of iterations. A run ends before it when no label changes, for then none
// ever will. An iteration is one superstep of a message along every edge.
//
// Labels are counted without sorting where there are many: see [mode.Of]. It is a program of lists:
// pass it as pregel.List(CDLP{}).
type CDLP struct {
	Iterations int `param:"iterations" default:"10" zero:"refused" help:"largest number of iterations"`
}

// Validate refuses a number of iterations that is none.
func (p CDLP) Validate(*pregel.GraphInfo) error {
	if p.Iterations < 0 {
		return fmt.Errorf("iterations is %d, want 1 or more", p.Iterations)
	}
	return nil
}

var relabelled = pregel.SumOf[int64]("relabelled")

// Traits are the program's facts. Direction: labels go along edges and against them. MaxSupersteps:
// one before the first iteration, and one for each. Aggregators: the number of vertices that took
// another label in the last iteration.
func (p CDLP) Traits() pregel.Traits {
	return traits{
		Direction: pregel.Both, MaxSupersteps: mostSupersteps(p.Iterations, 1, 1), InputIDs: true,
		Aggregators: aggregates{relabelled},
	}
}

// Report is what reports show of the values.
func (CDLP) Report() pregel.Report[uint64] {
	return report[uint64]{Number: func(label uint64) uint64 { return label }}
}

// Coordinate ends the run when no label has changed. Superstep s computes iteration s.
func (p CDLP) Coordinate(c *pregel.Coordinator) {
	endRun(c, c.Superstep > 1 && relabelled.Value(c) == 0, c.Superstep > p.Iterations, false)
}

// Compute takes the label that most neighbours have, and sends it to them.
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

// Resend sends the label again, when a run goes on from a checkpoint.
func (CDLP) Resend(v *pregel.Vertex[uint64, uint64]) { v.SendToAllNeighbors(v.Value()) }
