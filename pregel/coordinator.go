package pregel

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Coordinator is the argument of Coordinate, which runs before the vertices of a superstep (master
// compute; Malewicz 2010). Coordinate can read and replace the aggregates of the previous
// superstep, set the phase, and end the run.
type Coordinator struct {
	// Superstep is the superstep about to run, from 0.
	Superstep int
	// NumVertices and NumEdges are the size of the graph. Active is the number of awake vertices.
	// Messages is the number of messages that the last superstep sent, before combining.
	NumVertices, NumEdges, Active, Messages uint64

	// Phase is the value of the last SetPhase, 0 at first.
	Phase int

	end    kernel.End
	totals *partition // has the aggregators' totals
	log    func(line string)
}

// Halt ends the run as converged: the program's own criterion holds. The vertices of this superstep
// do not run. Messages that the last superstep sent are dropped. Changes of the graph that it
// requested take effect, as at every end of a run.
func (c *Coordinator) Halt() { c.end.Converged = true }

// HaltAtIterations ends the run as Halt does, after the requested number of iterations. Reports
// show "iterations" instead of "converged".
func (c *Coordinator) HaltAtIterations() { c.end.Iterations = true }

// Stop ends the run as Halt does, but before the program's criterion holds. The later steps of a
// plan do not run, as at the limit of supersteps.
func (c *Coordinator) Stop() { c.end.Stopped = true }

// Fail fails the run with an error that is not a defect of the program, for example a graph that
// the program does not support. Reports show the error without a stack. Fail does not return.
func (c *Coordinator) Fail(err error) { panic(kernel.Failure{Err: err}) }

// SetPhase sets the value that Vertex.Phase returns from this superstep on: a number from 0 to
// math.MaxUint32. Any other number fails the job.
func (c *Coordinator) SetPhase(phase int) { c.Phase = phase }

// Logf writes a line to the job's log. The line begins with the superstep.
func (c *Coordinator) Logf(format string, args ...any) {
	if c.log != nil {
		c.log(fmt.Sprintf("coordinator, superstep %d: ", c.Superstep) +
			fmt.Sprintf(format, args...))
	}
}

func (c *Coordinator) view() *partition { return c.totals }
func (c *Coordinator) local() uint32    { return noVertex }
