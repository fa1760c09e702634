package pregel

import "errors"

// ErrGrid is in every error about what cannot be had in a grid of partitions with both sides above 1, and can in others.
var ErrGrid = errors.New("not in this grid")

// Worker is what one goroutine of a partition sees of a superstep. Programs meet it in BeforeSuperstep and
// AfterSuperstep, and through [Vertex] everywhere else; the engine fills it.
type Worker struct {
	Partition, Partitions int
	Superstep, Phase      int
	NumVertices, NumEdges uint64

	// Label returns the input id of a vertex.
	Label func(VertexID) uint64
	// Log writes one line, or is nil.
	Log func(line string)
	// Edges are the lists that Vertex.Edges runs over; NoEdges says, if there are none, why and what to use.
	Edges   []*EdgeLists
	NoEdges error
	// Totals are the aggregators' values of the previous superstep; Cells take this superstep's, for this goroutine.
	// Both are indexed by the aggregators' process-wide numbers.
	Totals, Cells []Cell
	// Columns are the partition's property columns, indexed by their process-wide numbers.
	Columns []any
}

func (w *Worker) worker() *Worker { return w }
func (w *Worker) totals() []Cell  { return w.Totals }

// Scope is a place where an aggregator can be added to: a *Vertex or a *Worker.
type Scope interface{ worker() *Worker }

// Coordinator is the master's view in Coordinate, before the vertices of a superstep run: it sees the aggregators of
// the superstep before and may replace them, and may end the run.
type Coordinator struct {
	// Superstep is the one about to run, from 0.
	Superstep int
	// NumVertices and NumEdges are those of the graph; Active is how many vertices are awake, Messages how many
	// messages the last superstep sent, before combining.
	NumVertices, NumEdges, Active, Messages uint64

	// Totals are the aggregators' values, by their process-wide numbers.
	Totals []Cell
	// Halted and Phase are what Coordinate decided.
	Halted bool
	Phase  int
}

// Halt ends the run before the vertices of this superstep run.
func (c *Coordinator) Halt() { c.Halted = true }

// SetPhase sets what Vertex.Phase returns from this superstep on: a number from 0 to math.MaxUint32. Any other fails the job.
func (c *Coordinator) SetPhase(phase int) { c.Phase = phase }

func (c *Coordinator) totals() []Cell { return c.Totals }
