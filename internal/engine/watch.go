package engine

import (
	"context"

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
func (r *runner) watchMessages(ctx context.Context) {
	w, _ := ctx.Value(watching{}).(Watcher)
	r.resends = w != nil
	if w == nil || mem.PointerFreeType(r.job.methods.program.Message) || r.part.Of > 1 || len(r.threads) > 1 {
		return
	}
	r.watcher = w
	r.threads[0].Watch(func(from pregel.VertexID, message any) { w.Sent(r.command.Superstep, from, message) })
}
