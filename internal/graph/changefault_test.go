package graph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// faultyGraph makes a small graph; kind selects its options.
func faultyGraph(t testing.TB, kind int, meter *mem.Budget, size int) *graph.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(kind), 3))
	tuples, weights := randomTuples(rng, size, 4*size)
	o := graph.Options{
		Grid: graph.Of(3), Weights: edges.Weights(kind % 3),
		Duplicates: graph.Duplicates((kind + kind/4) % 4), Budget: meter,
		Deal: []string{"", "64:", "64:1,40"}[kind/2%3],
	}
	if kind%4 >= 2 { // directed and undirected, as in the flat grid
		o.Grid = graph.Grid{Rows: 2, Columns: 2}
	}
	in := &edges.Input{Name: "g", Edges: edges.Pack(uint64(size), tuples,
		weights), Vertices: size, Directed: kind%2 == 0}
	g, err := build.Local(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// recorded returns a change, and the messages that partition 0 receives in it, by exchange.
func recorded(t testing.TB, g *graph.Graph) (came [][][]byte, c graph.Change) {
	t.Helper()
	changes := randomChanges(rand.New(rand.NewPCG(1, 4)), twinOf(g), g.Deal)
	for i := range changes {
		changes[i].N = g.N + 5
	}
	m := graph.NewRendezvous(len(g.Parts))
	done := make(chan error)
	for i, p := range g.Parts {
		exchange := m.Exchange(i)
		if i == 0 {
			exchange = func(ctx context.Context, data [][]byte) ([][]byte, error) {
				got, err := m.Exchange(0)(ctx, data)
				came = append(came, got)
				return got, err
			}
		}
		go func() {
			c, err := p.Changed(t.Context(), changes[i], exchange)
			if err == nil {
				c.Close()
			}
			done <- err
		}()
	}
	for range g.Parts {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return came, changes[0]
}

// replay changes partition 0 with these messages. If the change succeeds, all neighbours have
// slots.
func replay(t testing.TB, g *graph.Graph, c graph.Change, came [][][]byte) error {
	t.Helper()
	at := 0
	changed, err := g.Parts[0].Changed(t.Context(), c,
		func(context.Context, [][]byte) ([][]byte, error) {
			at++
			return came[at-1], nil
		})
	if err != nil {
		return err
	}
	defer changed.Close()
	for _, d := range []pregel.Direction{pregel.Out, pregel.In} {
		l := changed.Partition.Layout(d)
		for _, b := range l.Blocks {
			for _, a := range []*graph.Adjacency{b.Pull.ByReceiver, b.Push.BySender} {
				if len(a.Adj) > 0 && int(slices.Max(a.Adj)) >= l.Count ||
					bitmap.Count(a.Bits) != len(a.Starts)-1 {
					t.Errorf("direction %v: a neighbour beyond %d slots", d, l.Count)
				}
			}
		}
	}
	return nil
}

// TestChangedRefusesMessages: a message that is truncated, too long or missing is an error, and the
// failed change leaves no memory.
func TestChangedRefusesMessages(t *testing.T) {
	for kind := range 8 {
		meter := mem.NewBudget(1<<40, "")
		g := faultyGraph(t, kind, meter, 30)
		before := meter.Use().Memory
		came, c := recorded(t, g)
		if err := replay(t, g, c, came); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
		for k := range came {
			for q := 1; q < len(g.Parts); q++ {
				whole := came[k][q]
				for _, data := range [][]byte{nil, whole[:len(whole)-1], append(slices.Clone(whole),
					1), whole[:min(len(whole), 7)]} {
					came[k][q] = data
					if err := replay(t, g, c, came); err == nil {
						t.Errorf("kind %d, message %d of partition %d: %d bytes are taken for %d",
							kind, k, q, len(data), len(whole))
					}
				}
				came[k][q] = whole
			}
		}
		came[0] = came[0][:1]
		if err := replay(t, g, c, came); err == nil {
			t.Errorf("kind %d: messages of one partition are taken for all", kind)
		}
		if meter.Use().Memory != before {
			t.Errorf("kind %d: %d bytes are left", kind, meter.Use().Memory-before)
		}
	}
}

// FuzzChangedMessages changes bytes of messages: this may cause errors, but no panics.
func FuzzChangedMessages(f *testing.F) {
	for kind := range 8 {
		f.Add(uint8(kind), uint16(9), uint8(0), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, kind uint8, place uint16, message, from, value uint8) {
		g := faultyGraph(t, int(kind%16), nil, 12)
		came, c := recorded(t, g)
		data := came[int(message)%len(came)][1+int(from)%(len(g.Parts)-1)]
		data[int(place)%len(data)] = value
		_ = replay(t, g, c, came) // the test is that it returns without a panic
	})
}

// TestChangedRefuses: a change that is not valid for the partition is rejected.
func TestChangedRefuses(t *testing.T) {
	g := faultyGraph(t, 0, nil, 10)
	for _, c := range []graph.Change{
		{N: 9},
		{N: graph.MaxVertices + 1},
		{N: 10, Add: []graph.Arc{{From: 1, To: 2}}},
		{N: 10, Add: []graph.Arc{{From: 0, To: 10}}},
		{N: 10, Remove: []graph.Arc{{From: 12, To: 2}}},
	} {
		if _, err := g.Parts[0].Changed(t.Context(), c, nil); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestChangedEnds: a change ends when the context ends, at any point, and frees its memory. A graph
// of changed partitions frees its memory too.
func TestChangedEnds(t *testing.T) {
	const size = 30_000 // arrays that the budget counts
	for kind := range 4 {
		meter := mem.NewBudget(1<<40, "")
		g := faultyGraph(t, kind, meter, size)
		before := meter.Use().Memory
		changes := make([]graph.Change, len(g.Parts))
		for i := range changes {
			changes[i] = graph.Change{N: g.N + 5000, Add: []graph.Arc{{From: g.Parts[i].Global(0), To: pregel.VertexID(5 * i)}}}
		}
		changed, err := change(t.Context(), g.Parts, changes)
		if err != nil {
			t.Fatal(err)
		}
		// it shares some of the lists
		again, err := change(t.Context(), partitions(changed), changes)
		if err != nil {
			t.Fatal(err)
		}
		if meter.Use().Memory <= before {
			t.Errorf("kind %d: the change takes no memory", kind)
		}
		for _, c := range changed {
			c.Close()
		}
		graph.Assemble(g, again...).Close()
		if meter.Use().Memory != before {
			t.Errorf("kind %d: %d bytes are left of the graph", kind, meter.Use().Memory-before)
		}
		for after := range 2 {
			ctx, cancel := context.WithCancelCause(t.Context())
			err := changeUntil(ctx, g.Parts, changes, after, cancel)
			if !errors.Is(err, context.Canceled) || meter.Use().Memory != before {
				t.Errorf("kind %d, after %d exchanges: error %v, %d bytes are left", kind, after,
					err, meter.Use().Memory-before)
			}
		}
	}
}

// changeUntil cancels a change at partition 0's exchange number after.
func changeUntil(
	ctx context.Context, g []*graph.Partition, changes []graph.Change, after int,
	cancel context.CancelCauseFunc,
) error {
	m := graph.NewRendezvous(len(g))
	errs := make(chan error)
	for i, p := range g {
		exchange := m.Exchange(i)
		if i == 0 {
			count := 0
			exchange = func(ctx context.Context, data [][]byte) ([][]byte, error) {
				if count++; count > after {
					cancel(context.Canceled)
				}
				return m.Exchange(0)(ctx, data)
			}
		}
		go func() {
			c, err := p.Changed(ctx, changes[i], exchange)
			if err == nil {
				c.Close()
			}
			errs <- err
		}()
	}
	var failed error
	for range g {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}

func partitions(changed []*graph.Changed) []*graph.Partition {
	var parts []*graph.Partition
	for _, c := range changed {
		parts = append(parts, c.Partition)
	}
	return parts
}
