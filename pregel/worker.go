package pregel

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Worker is one goroutine's view of a superstep in a partition. A [Block] has one; elsewhere
// [Vertex] has its methods.
type Worker struct {
	Partition, Partitions int
	Superstep, Phase      int
	NumVertices, NumEdges uint64

	label func(VertexID) uint64
	state kernel.State

	base    uint32   // the local index, in its partition, of the first vertex of the block that runs
	changes *changes // nil if the program makes none
	random  random
}

// begin prepares for the vertices of a block.
func (w *Worker) begin() {
	w.random.of = None
	if c := w.changes; c != nil {
		c.of = None
	}
}

// Label returns the input id of a vertex.
func (w *Worker) Label(id VertexID) uint64 { return w.label(id) }

// Logf writes a line to the job's log, with the partition and the superstep in front.
func (w *Worker) Logf(format string, args ...any) {
	if w.state.Log != nil {
		w.state.Log(fmt.Sprintf("partition %d, superstep %d: ", w.Partition, w.Superstep) + fmt.Sprintf(format, args...))
	}
}

func (w *Worker) worker() *Worker { return w }
func (w *Worker) local() uint32   { return noVertex }

// Context is where aggregators and columns are used: a *Vertex, a *Block or its *Worker, a
// *Coordinator, the *plan.Round of a condition, or a *superstep.Result. Only a vertex has values of
// columns; only vertices, blocks and workers add to aggregators.
type Context interface {
	worker() *Worker
	local() uint32
}

// noVertex is the place of a context that is no vertex: no column has it.
const noVertex = math.MaxUint32

// Coordinator is what Coordinate gets before the vertices of a superstep run (master compute; Malewicz 2010): it can read and replace
// the aggregates of the previous superstep, set the phase, and end the run.
type Coordinator struct {
	// Superstep is the one about to run, from 0.
	Superstep int
	// NumVertices and NumEdges are those of the graph; Active is how many vertices are awake, Messages how many
	// messages the last superstep sent, before combining.
	NumVertices, NumEdges, Active, Messages uint64

	// Phase is what SetPhase has set, 0 at first.
	Phase int

	end    kernel.End
	totals *Worker // has the aggregators' totals
	log    func(line string)
}

// Halt ends the run, which has converged: the program's own criterion holds. The vertices of this superstep do not run. Changes of the graph that the last superstep asked for are made, as at
// every end of a run; messages that it sent are dropped.
func (c *Coordinator) Halt() { c.end.Converged = true }

// HaltAtIterations is Halt of a run that has made all iterations that it was asked for: reports say iterations, and not converged.
func (c *Coordinator) HaltAtIterations() { c.end.Iterations = true }

// Stop is Halt of a run that gives up before its criterion holds. As at the limit of supersteps, what a plan has after it does not run.
func (c *Coordinator) Stop() { c.end.Stopped = true }

// Fail fails the run with an error that is not the program's fault, such as of a graph that it cannot work on: reports show it without a
// stack. It does not return.
func (c *Coordinator) Fail(err error) { panic(kernel.Failure{Err: err}) }

// SetPhase sets what Vertex.Phase returns from this superstep on: a number from 0 to math.MaxUint32. Any other fails the job.
func (c *Coordinator) SetPhase(phase int) { c.Phase = phase }

// Logf writes a line to the job's log, with the superstep in front.
func (c *Coordinator) Logf(format string, args ...any) {
	if c.log != nil {
		c.log(fmt.Sprintf("coordinator, superstep %d: ", c.Superstep) + fmt.Sprintf(format, args...))
	}
}

func (c *Coordinator) worker() *Worker { return c.totals }
func (c *Coordinator) local() uint32   { return noVertex }
