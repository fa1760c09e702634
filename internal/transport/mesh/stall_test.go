package mesh

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
)

func narrowWindow(_ int, o *Options) { o.Window = 100 << 10 }

// fill sends more frames than narrowWindow has room for.
func fill(t *testing.T, p *Port) {
	t.Helper()
	for range 3 {
		if err := p.Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte, 100<<10)}); err != nil {
			t.Fatal(err)
		}
	}
}

// stalls expects that a port's session fails because its frames wait for 10 minutes.
func stalls(t *testing.T, p *Port) {
	t.Helper()
	began := time.Now()
	if _, err := p.End(t.Context(), 0); err == nil ||
		!strings.Contains(err.Error(), "worker w1 has made no room for frames of worker w0") {
		t.Error(err)
	}
	if took := time.Since(began); took < 10*time.Minute || took > 11*time.Minute {
		t.Errorf("noticed after %v", took)
	}
}

func TestStallEndsTheSession(t *testing.T) {
	inVirtualTime(t, nil, narrowWindow, func(t *testing.T, a, _ *Port) {
		fill(t, a)
		stalls(t, a)
	})
}

// TestStallEndsOneSession: when a session that waits for credit is closed, the frames of the next
// session begin to wait.
func TestStallEndsOneSession(t *testing.T) {
	for _, wait := range []time.Duration{10*time.Minute - time.Second, 11 * time.Minute} {
		inVirtualTime(t, nil, narrowWindow, func(t *testing.T, a, b *Port) {
			meshes := []*Mesh{a.session.mesh, b.session.mesh}
			next := openAll(t, meshes, 2, 1, a.session.layout, nil)[0].Port(0)
			fill(t, a)
			fill(t, next)
			_ = parallel.Sleep(t.Context(), wait)
			if failed := a.session.Err() != nil; failed != (wait > 10*time.Minute) {
				t.Errorf("after %v: failed is %t", wait, failed)
			}
			a.session.Close()
			stalls(t, next)
		})
	}
}

// TestStallWithMessages: a session fails in time though messages keep the writer busy, so that it
// sends no pings.
func TestStallWithMessages(t *testing.T) {
	inVirtualTime(t, nil, func(i int, o *Options) {
		narrowWindow(i, o)
		o.Silence, o.Stall = time.Hour, time.Minute
	}, func(t *testing.T, a, b *Port) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		fill(t, a)
		began := time.Now()
		for a.session.Err() == nil && ctx.Err() == nil {
			_ = a.session.Link().Send(ctx, 1, 7, []byte{1})
			if m, err := b.session.Link().Receive(ctx, 0, 7); err == nil {
				b.session.Link().Release(m)
			}
			_ = parallel.Sleep(ctx, time.Second)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("noticed after %v: %v", took, a.session.Err())
		}
	})
}
