package engine

import (
	"context"
	"math/bits"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Watcher sees the messages of a job of one partition and one thread that hold pointers. It is for tests.
type Watcher interface {
	// Sent gets every message when it is sent.
	Sent(superstep int, from pregel.VertexID, message any)
	// Ended is called at the end of a superstep; label returns a vertex's input id. The job fails with its error.
	Ended(superstep int, label func(pregel.VertexID) uint64) error
}

type watching struct{}

// Watch returns a context whose jobs report their messages to a watcher.
func Watch(ctx context.Context, w Watcher) context.Context {
	return context.WithValue(ctx, watching{}, w)
}

// watchMessages gives the runner of a job its watcher, if ctx has one.
func (r *runner[V, M]) watchMessages(ctx context.Context) {
	w, _ := ctx.Value(watching{}).(Watcher)
	r.resends = w != nil
	if w == nil || mem.PointerFree[M]() || r.part.Of > 1 || len(r.threads) > 1 {
		return
	}
	r.watcher = w
	outbox, lift := r.outboxes[0], r.outboxes[0].Lift
	outbox.Lift = func(from uint64, m M) (M, bool) {
		ok := true
		if lift != nil {
			m, ok = lift(from, m)
		}
		w.Sent(r.command.Superstep, pregel.VertexID(from), m)
		return m, ok
	}
}

// watchAll reports to the watcher the messages out that the vertices of a block sent to all their neighbours.
func (r *runner[V, M]) watchAll(b *pregel.Block[V, M], sent uint64, out *[64]M) {
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent)
		r.watcher.Sent(r.command.Superstep, b.ID(i), out[i])
	}
}
