package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// Together does jobs that wait for a store, so many at a time, until one fails. It
// returns that one's error, or why ctx has ended.
func Together(ctx context.Context, n int, jobs []func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, len(jobs)) {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				if err := jobs[i](ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
