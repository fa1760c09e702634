package graph

import (
	"context"
	"sync"
)

// rendezvous exchanges messages between partitions in one process: each call waits for all
// partitions.
type rendezvous struct {
	mu  sync.Mutex
	now *round
}

// round is one exchange: the number of partitions that have called, and their data.
type round struct {
	came  int
	data  [][][]byte
	ready chan struct{}
}

func newRound(parts int) *round {
	return &round{data: make([][][]byte, parts), ready: make(chan struct{})}
}

// exchange returns partition p's AllToAll.
func (m *rendezvous) exchange(p int) AllToAll {
	return func(ctx context.Context, data [][]byte) ([][]byte, error) {
		m.mu.Lock()
		r := m.now
		r.data[p] = data
		if r.came++; r.came == len(r.data) {
			m.now = newRound(r.came)
			close(r.ready)
		}
		m.mu.Unlock()
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		got := make([][]byte, len(data))
		for q, sent := range r.data {
			if q != p {
				got[q] = sent[p]
			}
		}
		return got, nil
	}
}

// changeAll changes all partitions of a graph. All must be in this process.
func (g *Graph) changeAll(ctx context.Context, changes []Change) ([]*Changed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*Changed, len(g.Parts))
	m := &rendezvous{now: newRound(len(g.Parts))}
	var group sync.WaitGroup
	for i, p := range g.Parts {
		group.Go(func() {
			var err error
			if parts[i], err = p.Changed(ctx, changes[i], m.exchange(i)); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	if ctx.Err() == nil {
		return parts, nil
	}
	for _, c := range parts {
		if c != nil {
			c.Close()
		}
	}
	return nil, context.Cause(ctx)
}
