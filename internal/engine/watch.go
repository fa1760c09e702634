package engine

import (
	"context"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Watcher observes the program of a job with one partition and one thread. It is for tests.
type Watcher interface {
	// Sent gets every message that contains pointers when it is sent. After a vertex has run, Sent
	// also gets its combined message to all neighbours.
	Sent(superstep int, from pregel.VertexID, message any)
	// Began and Ended are called before and after a superstep. label returns a vertex's input id.
	// An error of Ended makes the job fail.
	Began(program any)
	Ended(superstep int, program any, label func(pregel.VertexID) uint64) error
	// Coordinate gets the coordinator's copy of a program without MarshalBinary, and a function
	// that calls its Coordinate. An error makes the job fail.
	Coordinate(program any, call func()) error
}

type watching struct{}

// Watch returns a context whose jobs report their messages to a watcher.
func Watch(ctx context.Context, w Watcher) context.Context {
	return context.WithValue(ctx, watching{}, w)
}

// watchMessages sets the watcher of the runner of a job, if ctx has one.
func (r *runner) watchMessages(ctx context.Context) {
	w, _ := ctx.Value(watching{}).(Watcher)
	r.saving.resends = w != nil
	if w == nil || r.part.Of > 1 || len(r.threads) > 1 {
		return
	}
	r.watcher = w
	var sent func(from pregel.VertexID, message any)
	if !mem.PointerFreeType(r.job.methods.program.Message) {
		sent = func(from pregel.VertexID, message any) {
			w.Sent(r.command.Superstep, from, message)
		}
	}
	r.threads[0].Watch(sent)
}
