package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// TestStartIsLeft: ctx ends. If taken says that this was before the master accepted the job, the job
// does not begin; if it is later, the job begins.
func TestStartIsLeft(t *testing.T) {
	left := errors.New("left")
	for _, before := range []bool{true, false} {
		f := &fake{}
		c, _ := start(t, f, time.Minute)
		ctx, leave := context.WithCancelCause(t.Context())
		id := ""
		if before {
			leave(left)
		}
		_, err := c.Start(ctx, t.Context(), &job.Spec{Program: "bfs"},
			func(taken string) bool { id = taken; leave(left); return !before }, &Place{},
			func(*control.JobEvent) error { return nil })
		if !errors.Is(err, left) || id != "j1" || len(f.confirmed) > 0 == before {
			t.Errorf("left before %t: found %v, job %q, confirmed %q", before, err, id, f.confirmed)
		}
	}
}
