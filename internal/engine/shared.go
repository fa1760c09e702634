package engine

import (
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// Shared is the state that the phases of a plan share, for the partitions of one process: the
// property columns and, after a phase has changed it, the graph.
//
// Several runners use their own partition's part at the same time. Everything else is used only
// between supersteps.
type Shared struct {
	parts map[int]*sharedPart
	known []kernel.Property // of all phases
	// generation counts the versions of the graph. A job bound to another version is moved to the
	// current one before it runs.
	generation int
}

// sharedPart is the shared state of one partition.
type sharedPart struct {
	// columns has the program's property columns or, in a plan, those of all phases.
	columns state.Columns
	lasting bool           // the columns outlive a run, because it belongs to a plan
	changed *graph.Changed // the partition as phases have changed it; nil if it is the loaded one
	counts  graphCounts    // of the changed graph
	// recount means that messages may have created vertices that counts does not include. It is
	// equal in all partitions.
	recount bool
}

// NewShared makes a Shared for the loaded graph, with columns that are zero.
func NewShared() *Shared { return &Shared{parts: map[int]*sharedPart{}} }

// Knows registers the columns of programs, so that they can be found by name.
func (s *Shared) Knows(all []kernel.Property) {
	s.known = append(s.known, all...)
}

// part returns the shared state of a partition. A runner calls it when it is made, so that no
// runner adds to the map later, when several run.
func (s *Shared) part(partition int) *sharedPart {
	p := s.parts[partition]
	if p == nil {
		p = &sharedPart{lasting: true}
		s.parts[partition] = p
	}
	return p
}

// base returns the shared state of a partition that phases have changed, or nil if the partition is
// the loaded one.
func (s *Shared) base(partition int) *sharedPart {
	if s == nil {
		return nil
	}
	if p := s.parts[partition]; p != nil && p.changed != nil {
		return p
	}
	return nil
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
		*p = sharedPart{lasting: p.lasting}
	}
}

// take returns the changed partitions, if any, which the caller then owns.
func (s *Shared) take() (parts []*graph.Changed) {
	for i := range len(s.parts) {
		if p := s.parts[i]; p != nil && p.changed != nil {
			parts = append(parts, p.changed)
			p.changed = nil
			s.generation++
		}
	}
	return parts
}

// replace sets the changed partition on which the next phases run, and frees the previous one.
func (s *Shared) replace(partition int, changed *graph.Changed, counts graphCounts, recount bool) {
	p := s.part(partition)
	if p.changed != nil {
		p.changed.Close()
	}
	p.changed, p.counts, p.recount = changed, counts, recount
	s.generation++
}
