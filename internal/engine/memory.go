package engine

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// budget returns what bounds the memory of the job, or nil.
func (j *Job[V, M]) budget() *mem.Budget {
	if j.options.Budget != nil {
		return j.options.Budget
	}
	return mem.Process()
}

// newArena returns an arena for columns, and newStore one for messages.
func (j *Job[V, M]) newArena() *mem.Arena {
	return &mem.Arena{Kind: mem.Columns, Budget: j.options.Budget}
}

func (j *Job[V, M]) newStore() *mem.Arena {
	return &mem.Arena{Kind: mem.Messages, Budget: j.options.Budget}
}

// exhausted makes the job fail because there is no memory for it, soon.
func (j *Job[V, M]) exhausted(err error) error {
	for _, r := range j.runners {
		if at := r.hub.Load(); at > 0 {
			local := uint32(at - 1)
			err = fmt.Errorf("vertex %d, of degree %d: %w", r.label(r.part.Global(local)), max(r.outDegrees[local], r.inDegrees[local]), err)
			break
		}
	}
	err = fmt.Errorf("%s: %w", j.name, err)
	j.over.CompareAndSwap(nil, &err)
	j.halt()
	return err
}

// crowded makes the error of a vertex that was at work when there was no memory, or of none in particular.
func (r *runner[V, M]) crowded(at pregel.VertexID, exhausted *mem.Exhausted) error {
	name := fmt.Sprintf("%s: superstep %d", r.job.name, r.command.Superstep)
	if at == pregel.None {
		return fmt.Errorf("%s: %w", name, exhausted)
	}
	local := uint64(at) / uint64(r.part.Of)
	return fmt.Errorf("%s: vertex %d, of degree %d: %w", name, r.label(at), max(r.outDegrees[local], r.inDegrees[local]), exhausted)
}

// hub is the length from which a list's messages are made room for at once: such lists are few.
const hub = 1 << 16

// roomFor makes room for the messages along a list, which a hub may have millions of, and notes whose they are. Those of the vertices that come
// behind a hub in its word get room too, lest one message more has them all copied to Go's heap.
func (r *runner[V, M]) roomFor(t *thread[V, M], local uint32, n int) {
	if n >= hub {
		r.hub.Store(uint64(local) + 1)
	}
	if cap(t.messages)-len(t.messages) < n && len(t.messages)+n >= hub {
		t.messages = mem.Grow(r.store, t.messages, n+hub)
	}
}

// binned reports whether there is memory for the pairs of a list in the bins of a push: else one goroutine pushes right into the inbox.
func (r *runner[V, M]) binned(edges int) bool {
	return !r.job.budget().Tight(int64(edges) * int64(4+mem.SizeOf[M]()))
}

// roomy reports whether there is memory for so many messages that travel one by one, in this process's part of the partitions: they lie in
// bins, in buffers and in lists.
func (j *Job[V, M]) roomy(messages int) bool {
	here := messages / max(len(j.owners), 1) * len(j.runners)
	return !j.budget().Tight(3 * int64(here) * int64(4+mem.SizeOf[M]()))
}
