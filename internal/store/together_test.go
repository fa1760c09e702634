package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
)

// TestTogetherPanics: a panic of a job continues in the caller's goroutine after all running jobs
// have ended. No other job begins.
func TestTogetherPanics(t *testing.T) {
	cause := errors.New("no memory")
	var began, ended atomic.Int64
	var jobs []func(context.Context) error
	for i := range 100 {
		jobs = append(jobs, func(ctx context.Context) error {
			began.Add(1)
			defer ended.Add(1)
			if i == 3 {
				panic(cause)
			}
			if i > 3 {
				<-ctx.Done()
			}
			return nil
		})
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, cause) {
			t.Errorf("found %v", err)
		}
		if began.Load() != ended.Load() || began.Load() > 7 {
			t.Errorf("%d jobs began and %d ended", began.Load(), ended.Load())
		}
	}()
	t.Error(store.Together(t.Context(), 4, jobs))
}
