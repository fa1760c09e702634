package pregel

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Coordinator is what Coordinate gets before the vertices of a superstep run (master compute;
// Malewicz 2010): it can read and replace the aggregates of the previous superstep, set the phase,
// and end the run.
type Coordinator struct {
	// Superstep is the one about to run, from 0.
	Superstep int
	// NumVertices and NumEdges are those of the graph; Active is how many vertices are awake,
	// Messages how many messages the last superstep sent, before combining.
	NumVertices, NumEdges, Active, Messages uint64

	// Phase is what SetPhase has set, 0 at first.
	Phase int

	end    kernel.End
	totals *partition // has the aggregators' totals
	log    func(line string)
}

// Halt ends the run, which has converged: the program's own criterion holds. The vertices of this
// superstep do not run. Changes of the graph that the last superstep asked for are made, as at
// every end of a run; messages that it sent are dropped.
func (c *Coordinator) Halt() { c.end.Converged = true }

// HaltAtIterations is Halt of a run that has made all iterations that it was asked for: reports say
// iterations, and not converged.
func (c *Coordinator) HaltAtIterations() { c.end.Iterations = true }

// Stop is Halt of a run that gives up before its criterion holds. As at the limit of supersteps,
// what a plan has after it does not run.
func (c *Coordinator) Stop() { c.end.Stopped = true }

// Fail fails the run with an error that is not the program's fault, such as of a graph that it
// cannot work on: reports show it without a stack. It does not return.
func (c *Coordinator) Fail(err error) { panic(kernel.Failure{Err: err}) }

// SetPhase sets what Vertex.Phase returns from this superstep on: a number from 0 to
// math.MaxUint32. Any other fails the job.
func (c *Coordinator) SetPhase(phase int) { c.Phase = phase }

// Logf writes a line to the job's log, with the superstep in front.
func (c *Coordinator) Logf(format string, args ...any) {
	if c.log != nil {
		c.log(fmt.Sprintf("coordinator, superstep %d: ", c.Superstep) +
			fmt.Sprintf(format, args...))
	}
}

func (c *Coordinator) view() *partition { return c.totals }
func (c *Coordinator) local() uint32    { return noVertex }
