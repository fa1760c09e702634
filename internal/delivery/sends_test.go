package delivery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
)

// TestSendsOfOneSuperstep: every message to a single vertex reaches its receiver, over one hop or
// two, combined or not, and with SendInOrder in the order of senders.
func TestSendsOfOneSuperstep(t *testing.T) {
	grids := []graph.Grid{graph.Of(1), graph.Of(3), {Rows: 2, Columns: 3}}
	for _, grid := range grids {
		testSends(t, grid, func(i int) uint64 { return uint64(i) })
		testSends(t, grid, func(i int) string { return fmt.Sprintf("%06d", i) })
	}
}

func testSends[M uint64 | string](t *testing.T, grid graph.Grid, value func(i int) M) {
	const owned, senders = 20, 7
	greatest := combining[M](func(a, b M) M { return max(a, b) })
	for _, way := range []string{"one by one", "combined", "in order"} {
		if way == "in order" && !grid.Flat() {
			continue
		}
		t.Run(fmt.Sprintf("%T %s in %v", value(0), way, grid), func(t *testing.T) {
			of := grid.Rows * grid.Columns
			rng, want := rand.New(rand.NewPCG(5, uint64(of))), map[uint64][]M{}
			outboxes := make([][]kernel.Sends, of)
			for p := range of {
				for range 2 {
					o := kernel.NewOutbox[M](kernel.NewDeal(of), true)
					for range 300 {
						to, from := rng.Uint64N(uint64(of*owned)), uint64(p+of*rng.IntN(senders))
						m := value(int(from)*1000 + o.Count)
						o.Add(to, from, m)
						want[to] = append(want[to], m)
					}
					outboxes[p] = append(outboxes[p], o)
				}
			}
			found := map[uint64][]M{}
			for p, came := range sendAll(t, grid, owned, func(x *Exchange, p int, sink Sink) error {
				switch way {
				case "combined":
					return x.Send(t.Context(), outboxes[p], greatest, sink)
				case "in order":
					return x.SendInOrder(t.Context(), outboxes[p], sink)
				}
				return x.Send(t.Context(), outboxes[p], nil, sink)
			}, new(kernel.Vec[M])) {
				for i, to := range came.to {
					id := uint64(p) + uint64(of)*uint64(to)
					found[id] = append(found[id], came.messages.Any(i).(M))
				}
			}
			sent, arrived := 0, 0
			for to, messages := range want {
				got := found[to]
				sent, arrived = sent+len(messages), arrived+len(got)
				if way == "in order" && !slices.IsSortedFunc(got, bySender[M](value)) {
					t.Errorf("vertex %d has %v, out of order", to, got)
				}
				slices.Sort(messages)
				slices.Sort(got)
				if way == "combined" { // only the sink combines the own messages
					messages, got = messages[len(messages)-1:], got[len(got)-1:]
				}
				if !slices.Equal(messages, got) {
					t.Errorf("vertex %d has %v, expected %v", to, got, messages)
				}
			}
			if (arrived < sent) != (way == "combined" && of > 1) {
				t.Errorf("%d of %d messages arrived", arrived, sent)
			}
		})
	}
}

// bySender compares messages by their senders. Each sender has sent at most 1000.
func bySender[M uint64 | string](value func(i int) M) func(a, b M) int {
	sender := func(m M) (from int) {
		for value(1000*(from+1)) <= m {
			from++
		}
		return from
	}
	return func(a, b M) int { return sender(a) - sender(b) }
}

// sentTo has the messages that a partition received.
type sentTo struct {
	to       []uint32
	messages kernel.Column
}

// sendAll runs an exchange on all partitions of a grid at once.
func sendAll(
	t *testing.T, grid graph.Grid, owned int, send func(x *Exchange, p int, sink Sink) error,
	like kernel.Column,
) []sentTo {
	of := grid.Rows * grid.Columns
	wires := make([]*wiring, of)
	for p := range wires {
		wires[p] = &wiring{by: map[transport.Kind]chan *transport.Frame{
			transport.Sends:   make(chan *transport.Frame, of),
			transport.SendsOn: make(chan *transport.Frame, of),
		}, all: wires}
	}
	came, errs := make([]sentTo, of), make(chan error, of)
	for p := range of {
		part := &graph.Partition{Index: p, Of: of, Owned: owned, Most: owned, Grid: grid}
		for q := range of {
			switch {
			case q == p:
			case grid.Column(q) == grid.Column(p):
				part.Column = append(part.Column, q)
			case grid.Row(q) == grid.Row(p):
				part.Row = append(part.Row, q)
			}
		}
		x, gate := NewExchange(part, like, Experiment{}), make(chan struct{}, 1)
		gate <- struct{}{}
		x.Connect(wires[p], gate)
		came[p].messages = like.New(nil)
		go func() {
			errs <- send(x, p, func(to []uint32, messages kernel.Column) {
				came[p].to = append(came[p].to, to...)
				came[p].messages.Append(messages)
			})
		}()
	}
	for range of {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	return came
}

// wiring is an endpoint of partitions that are goroutines of a test.
type wiring struct {
	forger
	by  map[transport.Kind]chan *transport.Frame
	all []*wiring
}

func (w *wiring) Send(f *transport.Frame) error {
	w.all[f.To].by[f.Kind] <- f
	return nil
}

func (w *wiring) Receive(_ context.Context, kind transport.Kind) (*transport.Frame, error) {
	return <-w.by[kind], nil
}
