package engine_test

import (
	"context"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
)

// turns is an endpoint that records the order in which a partition sends (s), flushes (f) and
// receives (r), by superstep.
type turns struct {
	transport.Endpoint
	deeds *[]string
}

func (t turns) note(deed string) {
	all := *t.deeds
	all[len(all)-1] += deed
}

func (t turns) Send(f *transport.Frame) error { t.note("s"); return t.Endpoint.Send(f) }

func (t turns) Flush(ctx context.Context) error { t.note("f"); return t.Endpoint.Flush(ctx) }

func (t turns) Poll(kind transport.Kind) (*transport.Frame, error) {
	f, err := t.Endpoint.Poll(kind)
	if f != nil {
		t.note("r")
	}
	return f, err
}

func (t turns) Receive(ctx context.Context, kind transport.Kind) (*transport.Frame, error) {
	t.note("r")
	return t.Endpoint.Receive(ctx, kind)
}

func (t turns) End(ctx context.Context, superstep int) (*transport.Account, error) {
	*t.deeds = append(*t.deeds, "")
	return t.Endpoint.End(ctx, superstep)
}

// TestSerialRunsDoOneThingAtATime: an overlapped exchange sends all frames before it waits for one.
// A serial exchange writes each frame, and receives one, before it sends the next.
func TestSerialRunsDoOneThingAtATime(t *testing.T) {
	s := shapes(6)[9]
	g := s.loadAs(t, setting{parts: 12, grid: graph.Grid{Rows: 3, Columns: 4}}, edges.Unweighted)
	flat := s.load(t, 4, edges.Unweighted)
	for _, c := range []struct {
		name             string
		g                *graph.Graph
		choice           delivery.Choice
		overlapped, turn string // of a superstep that delivers messages
	}{
		// expand to 2, fold to 3
		{"push", g, delivery.ChoosePush, "ssrr" + "sssrrr", "sfrsfr" + "sfrsfrsfr"},
		// and 4 tokens, or one, which pass three blocks after their own
		{"ring", g, delivery.ChooseRingPull, "ssrr" + "ssss" + "rsrsrsrsrsrsrsrsrrrr" + "sssrrr", "sfrsfr" + "sf" + "rsfrsfr" + "sfrsfrsfr"},
		{"pull", flat, delivery.ChoosePull, "sssrrr", "sfrsfrsfr"},
		{"naive", flat, delivery.ChooseNaive, "sssrrr", "sfrsfrsfr"},
	} {
		for _, serial := range []bool{false, true} {
			want := c.overlapped
			if serial {
				want = c.turn
			}
			for p, deeds := range deedsOf(t, c.g,
				engine.Options{Delivery: c.choice, Experiment: delivery.Experiment{Serial: serial}}) {
				for superstep, deed := range deeds {
					if superstep == 0 || superstep == len(deeds)-1 {
						continue // nothing is delivered
					}
					// tokens arrive in any order, but none before the own tokens are sent
					if c.name == "ring" && !serial {
						if deed[:8] != want[:8] || len(deed) != len(want) {
							t.Errorf("%s: partition %d, superstep %d: %s, want %s", c.name, p,
								superstep, deed, want)
						}
					} else if deed != want {
						t.Errorf("%s, serial %t: partition %d, superstep %d: %s, want %s", c.name,
							serial, p, superstep, deed, want)
					}
				}
			}
		}
	}
}

// deedsOf runs a search with a job per partition, and returns each partition's operations in each
// superstep.
func deedsOf(t *testing.T, g *graph.Graph, o engine.Options) [][]string {
	t.Helper()
	local := transport.NewLocal(len(g.Parts))
	deeds := make([][]string, len(g.Parts))
	for i := range deeds {
		deeds[i] = []string{""}
	}
	all, d := apart(t, g, algorithms.BFS{Source: 0}, o, alone(g))
	_, err := all.run(t.Context(), d,
		func(i int) transport.Endpoint { return turns{local.Endpoint(i), &deeds[i]} }, local.Close)
	check(t, err)
	return deeds
}
