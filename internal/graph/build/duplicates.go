package build

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// counters has counters for the vertices of a range. In a directed graph, out and in count the
// edges from and to a vertex; otherwise out counts all its edges. more is for TEPS: the number of
// tuples without loops that touch the vertex, minus these counts, modulo 2^32. So it counts
// duplicates minus loops. It is nil if there are none, or if nobody asks for tuples.
type counters struct{ out, in, more []uint32 }

func (b *builder) newCounters(arena *mem.Arena, n int, more bool) counters {
	t := counters{out: mem.Make[uint32](arena, n)}
	if b.in.Directed {
		t.in = mem.Make[uint32](arena, n)
	}
	if more {
		t.more = mem.Make[uint32](arena, n)
	}
	return t
}

// columns returns the existing counters.
func (t *counters) columns() [][]uint32 {
	all := [][]uint32{t.out}
	if t.in != nil {
		all = append(all, t.in)
	}
	if t.more != nil {
		all = append(all, t.more)
	}
	return all
}

// tuples returns the number of tuples, without loops, that touch a vertex.
func (t *counters) tuples(v uint32) uint32 {
	n := t.out[v]
	if t.in != nil {
		n += t.in[v]
	}
	if t.more != nil {
		n += t.more[v]
	}
	return n
}

// checkDegrees returns an error if a degree, or the number of tuples that touch a vertex, does not
// fit into 32 bits. Then the sum of all ranks' counters is smaller than the number of increments.
// counted has the counters of this range. If they omit duplicates, no degree can overflow.
func (b *builder) checkDegrees(ctx context.Context, counted *counters) error {
	if uint64(b.all.tuples) <= math.MaxUint32 {
		return nil
	}
	edges, touched := uint64(0), uint64(0)
	for v := range uint32(len(counted.out)) {
		edges += uint64(counted.out[v])
		if counted.in != nil {
			edges += uint64(counted.in[v])
		}
		touched += uint64(counted.tuples(v))
	}
	sums, err := collective.Combine(ctx, b.group, b.call(), collective.SumUint64, edges, touched,
		uint64(b.loops))
	if err != nil {
		return err
	}
	ends := 2 * (uint64(b.all.tuples) - sums[2]) // of tuples without loops
	loops := sums[2]                             // ends of stored loops
	switch {
	case b.o.DropLoops:
		loops = 0
	case b.in.Directed:
		loops *= 2
	}
	withDuplicates := b.tuples != nil || b.o.Duplicates == graph.KeepDuplicates
	if withDuplicates && sums[0] != ends+loops || b.o.TupleDegrees && sums[1] != ends {
		return fmt.Errorf("a vertex has more than %d edges", uint32(math.MaxUint32))
	}
	return nil
}

// deduplicator drops duplicates and counts the remaining edges.
type deduplicator struct {
	b       *builder
	shared  bool // several threads write to the counters
	dropped atomic.Int64
	largest atomic.Int64 // the number of edges of a tile that has too many; else 0
}

// scratch is a thread's memory for a bucket.
type scratch struct {
	table   []uint32 // indices of keys, plus 1
	keys    []uint64
	weights []float64
}

// distinct drops duplicates and counts degrees, one side of the store after another. After each
// side it sends the counts to the rank that owns the other ends.
func (b *builder) distinct(ctx context.Context) error {
	s := &deduplicator{b: b, shared: b.team.Size() > 1}
	scratches := make([]scratch, b.team.Size())
	for step := range b.ranks {
		at := (b.rank + step) % b.ranks
		d := b.store.sides[at]
		arena := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
		there := b.rows
		if at != b.rank {
			there = b.newCounters(arena, b.sizes[at], b.o.TupleDegrees)
		}
		b.team.For(d.tiles(), 1, func(worker, tile, _ int) {
			if ctx.Err() == nil {
				s.tile(&scratches[worker], d, tile, &there)
			}
		})
		err := ctx.Err()
		if err != nil {
			err = fmt.Errorf("looking for duplicates: %w", context.Cause(ctx))
		} else if at != b.rank {
			err = b.sendCounts(ctx, step, &there)
		}
		arena.Close()
		if err != nil {
			return err
		}
		b.progress("looking for duplicates", int64(step+1), int64(b.ranks))
	}
	if n := s.largest.Load(); n > 0 {
		return fmt.Errorf("%d edges are in one tile: at most %d, unless duplicates are kept; use more workers", n, uint32(math.MaxUint32))
	}
	b.dropped = int(s.dropped.Load())
	return b.refuse(ctx)
}

// tileEnds has the counters for the edges of a tile, and the beginnings of the tile's windows in
// them.
type tileEnds struct {
	here, other []uint32
	there       *counters // for all other ends
	row, end    uint32
	diagonal    bool // both counters are of this rank, so there may be loops
}

// ends returns the counters of a tile.
func (b *builder) ends(d *side, tile int, there *counters) *tileEnds {
	e := &tileEnds{here: b.rows.out, other: there.out, there: there, diagonal: d.at == b.rank}
	way := fromRow
	e.row, e.end, way = d.tile(tile)
	if b.in.Directed {
		e.other = there.in
		if way == toRow {
			e.here, e.other = b.rows.in, there.out
		}
	}
	return e
}

// tile drops the duplicates of a side's tile, and counts its edges.
func (s *deduplicator) tile(t *scratch, d *side, tile int, there *counters) {
	all, total := d.join(tile)
	if total == 0 {
		return
	}
	b, e := s.b, s.b.ends(d, tile, there)
	if s.plain(d) {
		s.plainTile(t, d, all, total, e)
		return
	}
	if b.o.Duplicates != graph.KeepDuplicates {
		if total > math.MaxUint32 { // indices in the table have 32 bits
			s.largest.Store(int64(total))
			return
		}
		_, _, way := d.tile(tile)
		s.search(t, d, &all, total, func(key uint64) { s.twice(d, e, way, key) })
	}
	here, other := e.here[e.row:], e.other[e.end:]
	for c := all.first; c != nil; c = c.next {
		for i := range c.n {
			u, v := d.split(c.key(i, d.high))
			add(here, u, 1, s.shared)
			if e.diagonal && e.row+u == e.end+v {
				s.loop(e.row + u)
				continue
			}
			add(other, v, 1, s.shared)
		}
	}
}

// twice records an edge that has occurred before.
func (s *deduplicator) twice(d *side, e *tileEnds, way int, key uint64) {
	b := s.b
	u, v := d.split(key)
	u, v = u+e.row, v+e.end
	if b.o.Duplicates == graph.RefuseDuplicates {
		here, there := b.places.starts[b.rank]+uint64(u), b.places.starts[d.at]+uint64(v)
		if b.in.Directed && way == toRow || !b.in.Directed && there < here {
			here, there = there, here
		}
		b.found(here, there)
	}
	if b.o.TupleDegrees && (!e.diagonal || u != v) {
		add(b.rows.more, u, 1, s.shared)
		add(e.there.more, v, 1, s.shared)
	}
}

// add adds n to a counter. With shared, several threads add to the counters.
func add(counts []uint32, i, n uint32, shared bool) {
	if shared {
		atomic.AddUint32(&counts[i], n)
	} else {
		counts[i] += n
	}
}

// loop counts a loop that is already in the counts of the row's side. An undirected loop is stored
// once.
func (s *deduplicator) loop(v uint32) {
	ends := uint32(1)
	if s.b.in.Directed {
		add(s.b.rows.in, v, 1, s.shared) // loops are never reversed
		ends = 2
	}
	if s.b.o.TupleDegrees {
		add(s.b.rows.more, v, -ends, s.shared)
	}
}

// search keeps one of all edges with the same key: the first, with the weight that the options
// select. It calls twice with the key of each other edge.
func (s *deduplicator) search(t *scratch, d *side, all *chain, total int, twice func(key uint64)) {
	size := 1 << bits.Len(uint(total+total/2)) // at most two thirds full
	t.table = slices.Grow(t.table[:0], size)[:size]
	clear(t.table)
	mask := uint64(size - 1)
	t.keys, t.weights = t.keys[:0], t.weights[:0]
	how, weighted := s.b.o.Duplicates, d.weights != 0
	for c := all.first; c != nil; c = c.next {
		for i := range c.n {
			key := c.key(i, d.high)
			at := mix(key) & mask
			for t.table[at] != 0 && t.keys[t.table[at]-1] != key {
				at = (at + 1) & mask
			}
			if t.table[at] == 0 {
				t.keys = append(t.keys, key)
				t.table[at] = uint32(len(t.keys))
				if weighted {
					t.weights = append(t.weights, c.weight.At(i))
				}
				continue
			}
			twice(key)
			switch {
			case weighted && how == graph.LeastDuplicate:
				w := &t.weights[t.table[at]-1]
				*w = min(*w, c.weight.At(i))
			case weighted && how == graph.SumDuplicates:
				t.weights[t.table[at]-1] += c.weight.At(i)
			}
		}
	}
	s.dropped.Add(int64(total - len(t.keys)))
	if total == len(t.keys) {
		return
	}
	at := 0
	for c := all.first; c != nil; c = c.next {
		c.n = min(c.n, len(t.keys)-at)
		for i := range c.n {
			c.set(i, d.high, t.keys[at+i])
			if weighted {
				c.weight.Set(i, t.weights[at+i])
			}
		}
		at += c.n
	}
}
