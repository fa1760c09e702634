package build

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// tuples has the edges of a rank that is alone: its list of tuples. It reads the list once to count
// degrees, once to find duplicates, if they matter, and once for the lists of each direction. A
// store of the edges would take a third more memory at the peak, because the list is kept, and a
// quarter more time.
type tuples struct {
	b      *builder
	raw    counters // including duplicates
	unique mem.Arena
}

// discover finds the largest endpoint, if the number of vertices depends on it and it is not known
// yet.
func (b *builder) discover(ctx context.Context) error {
	b.largest = b.in.Largest
	if b.in.Naming != edges.Numbers || b.in.Vertices > 0 || b.largest > 0 {
		return nil
	}
	largest := make([]uint64, b.team.Size())
	err := b.scan(ctx, "finding the vertices", false, func(worker int, block *edges.Block) error {
		m := largest[worker]
		for i, u := range block.U[:block.N] {
			m = max(m, u, block.V[i])
		}
		largest[worker] = m
		return nil
	})
	b.largest = slices.Max(largest)
	return err
}

// degrees counts degrees, with duplicates and without.
func (t *tuples) degrees(ctx context.Context) error {
	b := t.b
	if err := t.count(ctx); err != nil {
		return err
	}
	b.rows = t.raw
	if b.o.Duplicates == graph.KeepDuplicates {
		return nil
	}
	t.unique.Budget, t.unique.Kind = b.o.Budget, mem.Loading
	b.rows = b.newCounters(&t.unique, b.sizes[0], false)
	copy(b.rows.out, t.raw.out)
	copy(b.rows.in, t.raw.in)
	return t.distinct(ctx)
}

// count counts loops, and degrees including duplicates.
func (t *tuples) count(ctx context.Context) error {
	b := t.b
	t.raw = b.newCounters(b.tmp, b.sizes[0], b.o.TupleDegrees && !b.o.DropLoops)
	private := []counters{t.raw}
	tmp := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
	defer tmp.Close()
	// Separate counters for each thread avoid atomics, if their memory is small in comparison with
	// the edges.
	shared := b.team.Size() > 1 && b.team.Size()*b.sizes[0] > b.in.Edges.Len()
	for i := 1; i < b.team.Size() && !shared; i++ {
		private = append(private, b.newCounters(tmp, b.sizes[0], false))
	}
	var found atomic.Int64
	err := b.scan(ctx, "counting degrees", false, func(worker int, block *edges.Block) error {
		c := private[0]
		if !shared {
			c = private[worker]
		}
		n, err := t.countBlock(block, c, shared)
		found.Add(int64(n))
		return err
	})
	if err != nil {
		return err
	}
	b.loops = int(found.Load())
	b.team.For(b.sizes[0], 1<<14, func(_, lo, hi int) {
		for _, c := range private[1:] {
			for k, column := range c.columns() {
				sums := t.raw.columns()[k][lo:hi]
				for i, n := range column[lo:hi] {
					sums[i] += n
				}
			}
		}
	})
	return b.checkDegrees(ctx, &t.raw)
}

// countBlock counts the ends of a block's edges, and its loops.
func (t *tuples) countBlock(block *edges.Block, c counters, shared bool) (loops int, err error) {
	directed, drop, end := t.b.in.Directed, t.b.o.DropLoops, uint64(t.b.sizes[0])
	second, ends := c.out, uint32(1)
	if directed {
		second, ends = c.in, 2
	}
	for i, u := range block.U[:block.N] {
		v := block.V[i]
		if u >= end || v >= end {
			return 0, outOfRange(u, v, end)
		}
		if u == v {
			loops++
			if drop {
				continue
			}
			if t.raw.more != nil {
				atomic.AddUint32(&t.raw.more[u], -ends)
			}
			if !directed { // stored once
				add(c.out, uint32(u), 1, shared)
				continue
			}
		}
		add(c.out, uint32(u), 1, shared)
		add(second, uint32(v), 1, shared)
	}
	return loops, nil
}

// distribute makes the lists of all partitions.
func (t *tuples) distribute(ctx context.Context) error {
	b := t.b
	b.team.For(b.sizes[0], 1<<14, func(_, lo, hi int) {
		for v := uint32(lo); v < uint32(hi); v++ {
			b.parts.Vertex(pregel.VertexID(b.ids[v]), b.facts(v))
		}
	})
	b.rows = counters{}
	t.unique.Close()
	if err := t.arcs(ctx, true); err != nil || !b.in.Directed {
		return err
	}
	return t.arcs(ctx, false)
}

// arcs reads the tuples and makes the lists of one direction.
func (t *tuples) arcs(ctx context.Context, in bool) error {
	b, raw, stage := t.b, t.raw.out, "building the out-edges"
	if in {
		stage = "building the in-edges"
		if b.in.Directed {
			raw = t.raw.in
		}
	}
	order := b.g.Order
	s, err := b.parts.Scatter(in,
		func(p *graph.Partition, row uint32) int { return int(raw[order[p.Global(row)]]) })
	if err != nil {
		return err
	}
	d, err := graph.NewBucketMap(b.g.N, b.g.Deal, s.Plan())
	if err != nil {
		return err
	}
	err = b.scan(ctx, stage, b.o.Ordered(), func(worker int, block *edges.Block) error {
		s.Tuples(worker, block, b.ids, d)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Finish(ctx)
}

// scan calls f for every block of the list, until one call fails or ctx ends. The team's goroutines
// do it; with inOrder only the caller, in order.
func (b *builder) scan(ctx context.Context, stage string, inOrder bool, f func(worker int,
	block *edges.Block) error,
) error {
	return b.scanBlocks(ctx, stage, 0, edges.Blocks(b.in.Edges), inOrder, f)
}

// scanBlocks is scan for the blocks [first, end).
func (b *builder) scanBlocks(
	ctx context.Context, stage string, first, end int, inOrder bool,
	f func(worker int, block *edges.Block) error,
) error {
	const grain = 8
	list := b.in.Edges
	done, failed := atomic.Int64{}, atomic.Bool{}
	var once sync.Once
	var err error
	some := func(worker, lo, hi int) {
		if failed.Load() {
			return
		}
		e := ctx.Err()
		if e != nil {
			e = fmt.Errorf("%s: %w", stage, context.Cause(ctx))
		}
		for i := lo; i < hi && e == nil; i++ {
			if e = list.Read(first+i, &b.blocks[worker]); e == nil {
				e = f(worker, &b.blocks[worker])
			}
		}
		if e != nil {
			once.Do(func() { err = e })
			failed.Store(true)
			return
		}
		b.progress(stage, (int64(first)+done.Add(int64(hi-lo)))*edges.BlockSize, int64(list.Len()))
	}
	if n := end - first; inOrder {
		for lo := 0; lo < n; lo += grain {
			some(0, lo, min(lo+grain, n))
		}
	} else {
		b.team.For(n, grain, some)
	}
	return err
}
