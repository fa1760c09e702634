package build

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// counters counts what touches the vertices of a range: the edges from them and to them, where the graph is directed, else
// both in out; and, for TEPS, by how much tuples, loops apart, are more than these: duplicates less loops, modulo 2^32.
type counters struct{ out, in, more []uint32 }

func (b *builder) newCounters(arena *mem.Arena, n int) counters {
	t := counters{out: mem.Make[uint32](arena, n)}
	if b.in.Directed {
		t.in = mem.Make[uint32](arena, n)
	}
	if b.o.TupleDegrees {
		t.more = mem.Make[uint32](arena, n)
	}
	return t
}

// columns returns the counters there are.
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

// tuples returns how many tuples, loops apart, touch a vertex; 0 if they are not counted.
func (t *counters) tuples(v uint32) uint32 {
	if t.more == nil {
		return 0
	}
	n := t.out[v] + t.more[v]
	if t.in != nil {
		n += t.in[v]
	}
	return n
}

// pair is an edge by the numbers of its ends, each with the rank that owns its directory entry.
type pair struct{ u, v vertex }

type vertex struct {
	rank  int
	local uint32
}

func (a vertex) before(z vertex) bool {
	return a.rank < z.rank || a.rank == z.rank && a.local < z.local
}

// deduplicator drops duplicates and counts what is left.
type deduplicator struct {
	b       *builder
	shared  bool // counters have several writers
	dropped atomic.Int64
}

// scratch is a thread's memory for a bucket.
type scratch struct {
	table   []uint32 // of the places of keys, from 1
	keys    []uint64
	weights []float64
}

// distinct drops duplicates and counts degrees, side by side: what concerns the others goes to them after each.
func (b *builder) distinct(ctx context.Context) error {
	s := &deduplicator{b: b, shared: b.team.Size() > 1}
	scratches := make([]scratch, b.team.Size())
	for step := range b.ranks {
		at := (b.rank + step) % b.ranks
		d := b.store.sides[at]
		arena := &mem.Arena{Meter: b.o.Meter}
		there := b.rows
		if at != b.rank {
			there = b.newCounters(arena, b.sizes[at])
		}
		b.team.For(d.windows, 1, func(worker, window, _ int) {
			if ctx.Err() != nil {
				return
			}
			for way := range d.ways {
				s.bucket(&scratches[worker], d, at, way, window, &there)
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
	b.dropped = int(s.dropped.Load())
	return b.refuse(ctx)
}

// bucket searches a bucket of the side at, and counts it.
func (s *deduplicator) bucket(t *scratch, d *side, at, way, window int, there *counters) {
	b := s.b
	// Lanes are put one after the other, which is the order of the input where that matters.
	var all chain
	total := 0
	for lane := range d.lanes {
		c := d.chain(lane, way, window)
		if c.first == nil {
			continue
		}
		if all.first == nil {
			all.first = c.first
		} else {
			all.last.next = c.first
		}
		all.last = c.last
		for k := c.first; k != nil; k = k.next {
			total += k.n
		}
		*c = chain{}
	}
	if total == 0 {
		return
	}
	*d.chain(0, way, window) = all
	base := uint32(window) << d.shift
	low := uint64(1)<<d.shift - 1
	if b.o.Duplicates != graph.KeepDuplicates {
		s.search(t, d, &all, total, func(key uint64) {
			row, other := uint32(key>>d.shift), base+uint32(key&low)
			if b.o.Duplicates == graph.RefuseDuplicates {
				here, there := vertex{b.rank, row}, vertex{at, other}
				if b.in.Directed && way == toRow || !b.in.Directed && there.before(here) {
					here, there = there, here
				}
				b.found(pair{here, there})
			}
			if b.o.TupleDegrees && (at != b.rank || row != other) {
				s.add(b.rows.more, row, 1)
				s.add(there.more, other, 1)
			}
		})
	}
	here, other := b.rows.out, there.out
	if b.in.Directed {
		other = there.in
		if way == 1 {
			here, other = b.rows.in, there.out
		}
	}
	for c := all.first; c != nil; c = c.next {
		for i := range c.n {
			key := c.key(i)
			u, v := uint32(key>>d.shift), base+uint32(key&low)
			s.add(here, u, 1)
			if at == b.rank && u == v {
				s.loop(u)
				continue
			}
			s.add(other, v, 1)
		}
	}
}

func (s *deduplicator) add(counts []uint32, i, n uint32) {
	if s.shared {
		atomic.AddUint32(&counts[i], n)
	} else {
		counts[i] += n
	}
}

// loop counts a loop, which is in the counts of the row's side already: an undirected one is stored once.
func (s *deduplicator) loop(v uint32) {
	ends := uint32(1)
	if s.b.in.Directed {
		s.add(s.b.rows.in, v, 1) // loops are never reversed
		ends = 2
	}
	if s.b.o.TupleDegrees {
		s.add(s.b.rows.more, v, -ends)
	}
}

// search keeps one of all edges with the same key: the first, with the weight that the options ask for. It calls twice with
// the keys of the others.
func (s *deduplicator) search(t *scratch, d *side, all *chain, total int, twice func(key uint64)) {
	size := 1 << bits.Len(uint(total+total/2)) // at most two thirds full
	t.table = slices.Grow(t.table[:0], size)[:size]
	clear(t.table)
	mask := uint64(size - 1)
	t.keys, t.weights = t.keys[:0], t.weights[:0]
	how := s.b.o.Duplicates
	weighted := d.weights != 0
	for c := all.first; c != nil; c = c.next {
		for i := range c.n {
			key := c.key(i)
			at := mix(key) & mask
			for t.table[at] != 0 && t.keys[t.table[at]-1] != key {
				at = (at + 1) & mask
			}
			if t.table[at] == 0 {
				t.keys = append(t.keys, key)
				t.table[at] = uint32(len(t.keys))
				if weighted {
					t.weights = append(t.weights, c.weight.at(i))
				}
				continue
			}
			twice(key)
			switch {
			case weighted && how == graph.LeastDuplicate:
				w := &t.weights[t.table[at]-1]
				*w = min(*w, c.weight.at(i))
			case weighted && how == graph.SumDuplicates:
				t.weights[t.table[at]-1] += c.weight.at(i)
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
			c.set(i, t.keys[at+i])
			switch {
			case c.weight.single != nil:
				c.weight.single[i] = float32(t.weights[at+i])
			case c.weight.double != nil:
				c.weight.double[i] = t.weights[at+i]
			}
		}
		at += c.n
	}
}

func (a pair) before(z pair) bool { return a.u.before(z.u) || a.u == z.u && a.v.before(z.v) }
