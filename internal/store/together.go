package store

import (
	"context"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/parallel"
)

// Together does jobs that wait for a store, so many at a time, until one fails. It
// returns that one's error, or why ctx has ended. A job's panic is one of the caller, when all have
// returned.
func Together(ctx context.Context, n int, jobs []func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	team := parallel.NewTeam(min(n, len(jobs)), false)
	defer team.Close()
	team.Run(func(int) {
		i := 0
		defer func() {
			if i < len(jobs) { // it panics, or there is an error already
				cancel(nil)
			}
		}()
		for ctx.Err() == nil {
			if i = int(next.Add(1)) - 1; i >= len(jobs) {
				return
			}
			if err := jobs[i](ctx); err != nil {
				cancel(err)
			}
		}
	})
	return context.Cause(ctx)
}
