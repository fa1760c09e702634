package bsp

import (
	"encoding/json"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/pregel"
)

// Host is what the process that runs a driver gives it.
type Host struct {
	// Late, if not nil, is called when a superstep exceeds SuperstepTimeout, because a Compute that
	// does not return delays the end of the run.
	Late func(err error)
	// Label returns the input id of a vertex, and whether the vertex exists; nil if unknown.
	Label func(id pregel.VertexID) (uint64, bool)
	// Name returns the name of the vertex with an input id, if it has one; nil if unknown.
	Name func(label uint64) (string, bool)
	// Trusted means that the program never calls runtime.Goexit. Then a run needs no separate
	// goroutine. This saves 10 µs, a fifth of a Graph500 search in a tiny component.
	Trusted bool
	// Checkpoints, if not nil, decides when to save the state, and makes checkpoints from the
	// stored parts.
	Checkpoints *checkpoint.Keeper
	// Plan is the progress of the run's plan, for checkpoints; nil if there is none. The code that
	// walks the plan adds to it.
	Plan *checkpoint.Plan
	// Spec is the specification of the run, for processes that continue from a checkpoint.
	Spec []byte
	// Decides has all that the values depend on besides the graph, for checkpoints
	// (checkpoint.Manifest).
	Decides map[string]string
	// Account returns the totals of all recorded supersteps, for checkpoints; nil if there are
	// none.
	Account func() json.RawMessage
}
