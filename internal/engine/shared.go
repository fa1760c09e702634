package engine

import (
	"github.com/superstep-go/superstep/internal/engine/state"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// Shared is what the phases of a plan share, of the partitions of one process: the property columns
// and, once a phase has changed it, the graph.
//
// Runners use their own partition's part at the same time, each while it changes the graph; all
// else is done between supersteps.
type Shared struct {
	parts map[int]*sharedPart
	known []kernel.Property // of all phases
	// generation counts the graphs: a job that was made for another moves to this one before it
	// runs.
	generation int
}

// sharedPart is what belongs to one partition.
type sharedPart struct {
	// columns are the program's property columns or, in a plan, those of all phases.
	columns state.Columns
	lasting bool           // the columns outlive a run: it is of a plan
	changed *graph.Changed // the partition as phases have left it; nil if it is as it was loaded
	counts  graphCounts    // of the changed graph
	// recount says that messages may have made vertices that the counts do not have. It is the same
	// in all partitions.
	recount bool
}

// NewShared makes columns that are zero, of the loaded graph.
func NewShared() *Shared { return &Shared{parts: map[int]*sharedPart{}} }

// Knows has the columns of programs known by their names.
func (s *Shared) Knows(all []kernel.Property) {
	s.known = append(s.known, all...)
}

// part returns what is shared of a partition. A runner calls it when it is made, so that it is
// there when runners ask at the same time.
func (s *Shared) part(partition int) *sharedPart {
	p := s.parts[partition]
	if p == nil {
		p = &sharedPart{lasting: true}
		s.parts[partition] = p
	}
	return p
}

// base returns what is shared of a partition that phases have changed, or nil if the partition is
// as it was loaded.
func (s *Shared) base(partition int) *sharedPart {
	if s == nil {
		return nil
	}
	if p := s.parts[partition]; p != nil && p.changed != nil {
		return p
	}
	return nil
}

// Close forgets all columns, and frees the graph if it is not the loaded one. The next run begins
// so. It is idempotent, and s may be nil.
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

// take returns the changed partitions, if there are any, which belong to the caller from now on.
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

// replace makes a changed partition the one that the next phases run on, and frees the one before.
func (s *Shared) replace(partition int, changed *graph.Changed, counts graphCounts, recount bool) {
	p := s.part(partition)
	if p.changed != nil {
		p.changed.Close()
	}
	p.changed, p.counts, p.recount = changed, counts, recount
	s.generation++
}
