package engine

import (
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// Shared is the state that outlives a job's supersteps, for the partitions of one process: the
// property columns and, after a program has changed it, the graph. The phases of a plan share one.
//
// Several runners use their own partition's part at the same time. Everything else is used only
// between supersteps.
type Shared struct {
	parts map[int]*sharedPart
	known []kernel.Property // of all phases
	// lasting means that the columns outlive a run, because they belong to a plan.
	lasting bool
	// generation counts the versions of the graph. A job bound to another version is moved to the
	// current one before it runs.
	generation int
}

// sharedPart is the shared state of one partition.
type sharedPart struct {
	// columns has the program's property columns or, in a plan, those of all phases.
	columns state.Columns
	changed *graph.Changed // the partition as programs have changed it; nil if it is the loaded one
	counts  graphCounts    // of the changed graph, once the job that changed it has shared it
	// recount means that messages may have created vertices that counts does not include. It is
	// equal in all partitions.
	recount bool
}

// NewShared makes the Shared of a plan for the loaded graph, with columns that are zero.
func NewShared() *Shared { return &Shared{parts: map[int]*sharedPart{}, lasting: true} }

// Knows registers the columns of programs, so that they can be found by name.
func (s *Shared) Knows(all []kernel.Property) {
	s.known = append(s.known, all...)
}

// part returns the shared state of a partition. A runner calls it when it is made, so that no
// runner adds to the map later, when several run.
func (s *Shared) part(partition int) *sharedPart {
	p := s.parts[partition]
	if p == nil {
		p = new(sharedPart)
		s.parts[partition] = p
	}
	return p
}

// Close drops all columns, and frees the graph if it is not the loaded one. The next run begins
// with that state. Close is idempotent, and s may be nil.
func (s *Shared) Close() {
	if s == nil {
		return
	}
	for _, p := range s.parts {
		if p.changed != nil {
			p.changed.Close()
			s.generation++
		}
		*p = sharedPart{}
	}
}
