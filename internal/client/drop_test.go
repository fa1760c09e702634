package client

import (
	"context"
	"errors"
	"strings"
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

// TestTooLarge: an event is too large for a message. The client does not retry, because that would
// not help.
func TestTooLarge(t *testing.T) {
	f := &fake{events: numbered(3)}
	f.events[1].GetLog().Text = strings.Repeat("x", control.MaxMessage)
	c, told := start(t, f, time.Minute)
	err := c.Follow(t.Context(), "j1", func(*control.JobEvent) error { return nil })
	if err == nil || !strings.Contains(err.Error(), " sent too large a message: ") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("found %v", err)
	}
	if told() != "" {
		t.Errorf("messages %q", told())
	}
}
