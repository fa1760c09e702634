package parallel

import (
	"context"
	"sync"
)

// Together does jobs that wait for others, such as a store, so many at a time, until one fails. It
// returns that one's error, or why ctx has ended.
func Together(ctx context.Context, n int, jobs []func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next Counter
	var group sync.WaitGroup
	for range min(n, len(jobs)) {
		group.Go(func() {
			for i := next.Take(1); i < len(jobs) && ctx.Err() == nil; i = next.Take(1) {
				if err := jobs[i](ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
