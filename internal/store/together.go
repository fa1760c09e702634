package store

import (
	"context"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/parallel"
)

// Together runs jobs that wait for a store, n at a time, until one fails. It returns that job's
// error, or the cause if ctx ended. If a job panics, it panics when all have returned.
func Together(ctx context.Context, n int, jobs []func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	team := parallel.NewTeam(min(n, len(jobs)), false)
	defer team.Close()
	team.Run(func(int) {
		i := 0
		defer func() {
			if i < len(jobs) { // a job has panicked or failed
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
