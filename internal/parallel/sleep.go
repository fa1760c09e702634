package parallel

import (
	"context"
	"time"
)

// Sleep waits for a time. If ctx ends earlier it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
