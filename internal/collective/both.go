package collective

import (
	"context"
	"errors"
)

// Both runs two functions at once, and returns when both have returned. If one fails, it cancels
// the context of the other. The result is the error that is not due to this cancellation.
func Both(ctx context.Context, first, second func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := first(ctx)
		if err != nil {
			cancel()
		}
		done <- err
	}()
	err := second(ctx)
	if err != nil {
		cancel()
	}
	if e := <-done; e != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = e
	}
	return err
}
