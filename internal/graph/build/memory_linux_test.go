package build

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// observed is a link that calls before with the size of each message, before it sends it.
type observed struct {
	collective.Link
	before func(bytes int)
}

func (o observed) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	o.before(len(data))
	return o.Link.Send(ctx, to, tag, data)
}

// liveHeap returns how many bytes of Go's heap are in use.
func liveHeap() int {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// sparseRing returns shares of a graph of n vertices with ids far apart, each with one in-edge and
// one out-edge.
func sparseRing(ranks, n int) []*edges.RankInput {
	id := func(i int) uint64 { return uint64(i*1_000_003%100_000_000_000 + 7) }
	var shares []*edges.RankInput
	for rank := range ranks {
		var tuples [][2]uint64
		largest := uint64(0)
		from, to := edges.Part(n, rank, ranks)
		for i := from; i < to; i++ {
			u, v := id(i), id((i*7919+13)%n)
			tuples, largest = append(tuples, [2]uint64{u, v}), max(largest, u, v)
		}
		in := &edges.Input{Name: "ring", Edges: edges.Pack(largest+1, tuples, nil), Directed: true}
		share := edges.Whole(in, largest)
		share.Naming = edges.Named
		shares = append(shares, share)
	}
	return shares
}

// TestMemoryOfBuilding builds a graph with ids far apart on ranks whose budgets have no room for
// the ids that they exchange. It looks at the memory whenever a rank sends a piece of these.
func TestMemoryOfBuilding(t *testing.T) {
	if testing.Short() {
		t.Skip("the concurrency of TestTwin, with a large graph")
	}
	const (
		ranks, n = 2, 400_000
		limit    = 32 << 20 // of the process, which decides on the size of pieces
		piece    = limit / 128
		sent     = 8 * 3 * n / 8 // bytes of the ids of a rank that the other one has entries of
	)
	shares := sparseRing(ranks, n)
	before := liveHeap()
	mem.SetProcess(mem.NewBudget(limit, ""))
	t.Cleanup(func() { mem.SetProcess(nil) })
	var mu sync.Mutex
	var message, heap, numbering, spilled int // the most that was seen, in bytes
	m := memlink.New(ranks, nil)
	var all sync.WaitGroup
	for rank, share := range shares {
		all.Go(func() {
			var b *builder
			budget := mem.NewBudget(2<<20, t.TempDir())
			group, err := collective.NewGroup(observed{m.Link(rank), func(bytes int) {
				if bytes < piece/8 || b.store != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				message, heap = max(message, bytes), max(heap, liveHeap()-before)
				numbering = max(numbering, int(b.numbering.Bytes()))
				for _, k := range budget.Use().Kinds {
					if k.Kind == mem.Loading {
						spilled = max(spilled, int(k.Spilled))
					}
				}
			}}, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			b, err = newBuilder(group, 10, share, []int{0, 1},
				graph.Options{Partitions: ranks, Budget: budget})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.kept.Close()
			defer b.close()
			if err := group.Together(t.Context(), 10, b.build); err != nil {
				t.Error(err)
				return
			}
			defer b.g.Close()
			p := b.g.Parts[rank]
			out, in := p.OutDegrees[:p.Owned], p.InDegrees[:p.Owned]
			if b.g.N != n || b.g.Arcs != n || slices.Min(out) != 1 || slices.Max(out) != 1 ||
				slices.Min(in) != 1 || slices.Max(in) != 1 {
				t.Errorf("rank %d: %d vertices and %d arcs", rank, b.g.N, b.g.Arcs)
			}
		})
	}
	all.Wait()
	if message == 0 || message > piece {
		t.Errorf("the largest message has %d bytes, of at most %d", message, piece)
	}
	if heap > 3*piece {
		t.Errorf("Go's heap has %d bytes, which is more than three pieces of %d", heap, piece)
	}
	if numbering > 5*sent/2 {
		t.Errorf("%d bytes of ids are kept, of %d and what comes for as many", numbering, sent)
	}
	if spilled < sent {
		t.Errorf("%d bytes are in files, of %d and more", spilled, sent)
	}
}
