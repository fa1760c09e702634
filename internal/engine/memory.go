package engine

import (
	"cmp"
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// budget returns the budget that limits the job's memory, or nil.
func (j *Job) budget() *mem.Budget {
	return cmp.Or(j.options.Budget, mem.Process())
}

// newArena makes an arena for columns. newStore makes one for messages.
func (j *Job) newArena() *mem.Arena {
	return &mem.Arena{Kind: mem.Columns, Budget: j.options.Budget, Parent: j.graph.Arena()}
}

func (j *Job) newStore() *mem.Arena {
	return &mem.Arena{Kind: mem.Messages, Budget: j.options.Budget}
}

// exhausted makes the job fail soon, because there is no memory for it.
func (j *Job) exhausted(err error) error {
	for _, r := range j.runners {
		if at := r.hub.Load(); at > 0 {
			err = r.atVertex(r.part.Global(uint32(at-1)), err)
			break
		}
	}
	err = fmt.Errorf("%s: %w", j.name, err)
	j.over.CompareAndSwap(nil, &err)
	j.halt()
	return err
}

// atVertex adds to an error the vertex that was running when the memory was exhausted.
func (r *partition) atVertex(at pregel.VertexID, err error) error {
	_, local := r.part.Deal.Of(uint32(at))
	return fmt.Errorf("vertex %d, of degree %d: %w", r.label(at),
		max(r.out.Of[local], r.in.Of[local]), err)
}

// hasMemory reports whether there is enough memory for this number of uncombined messages, in this
// process's part of the partitions. They are stored in bins, in buffers and in lists.
func (j *Job) hasMemory(messages int) bool {
	here := messages / max(len(j.owners), 1) * len(j.runners)
	return !j.budget().Tight(3 * int64(here) * (4 + int64(j.methods.program.Message.Size())))
}
