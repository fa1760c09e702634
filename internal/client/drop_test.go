package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

func (f *fake) DropGraph(context.Context, *control.DropGraphRequest) (*control.Graph, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.refusals) == 0 {
		return &control.Graph{}, nil
	}
	code := f.refusals[0]
	f.refusals = f.refusals[1:]
	return nil, connect.NewError(code, errors.New("a job needs it"))
}

// TestDropWaitsForWhatEnds: the client retries to drop a graph while a cancelled job needs it. If
// another job needs it, the client returns the error at once.
func TestDropWaitsForWhatEnds(t *testing.T) {
	f := &fake{refusals: []connect.Code{connect.CodeAborted, connect.CodeAborted}}
	c, _ := start(t, f, time.Minute)
	if err := c.DropGraph(t.Context(), "g"); err != nil || len(f.refusals) > 0 {
		t.Errorf("found %v, and %d refusals are left", err, len(f.refusals))
	}
	f.refusals = []connect.Code{connect.CodeFailedPrecondition, connect.CodeFailedPrecondition}
	if err := c.DropGraph(t.Context(), "g"); connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		len(f.refusals) != 1 {
		t.Errorf("found %v, and %d refusals are left, expected 1", err, len(f.refusals))
	}
}
