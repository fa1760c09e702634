package transport

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestFramesOfLaterExchangesWait(t *testing.T) {
	l := NewLocal(2)
	a, b := l.Endpoint(0), l.Endpoint(1)
	for _, kind := range []Kind{Fold, Expand} {
		if err := a.Send(&Frame{From: 0, To: 1, Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []Kind{Expand, Fold} {
		f, err := b.Receive(t.Context(), kind)
		if err != nil || f.Kind != kind {
			t.Fatalf("got %v, %v, want %v", f, err, kind)
		}
	}
}

func TestEveryPairExchanges(t *testing.T) {
	const n, steps = 7, 50
	l := NewLocal(n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			e := l.Endpoint(i)
			for step := range steps {
				for to := range n {
					if err := e.Send(&Frame{From: i, To: to, Superstep: step}); err != nil {
						t.Error(err)
					}
				}
			}
			sum := 0
			for range n * steps {
				f, err := e.Receive(t.Context(), Expand)
				if err != nil {
					t.Error(err)
					return
				}
				sum += f.From*steps + f.Superstep
			}
			if want := n * steps * (n*steps - 1) / 2; sum != want {
				t.Errorf("partition %d: frames add up to %d, want %d", i, sum, want)
			}
		})
	}
	group.Wait()
}

func TestCloseAndCancelEndWaiting(t *testing.T) {
	l := NewLocal(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := l.Endpoint(0).Receive(ctx, Expand); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	done := make(chan error)
	go func() {
		_, err := l.Endpoint(1).Receive(t.Context(), Expand)
		done <- err
	}()
	l.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
