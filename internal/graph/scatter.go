package graph

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

const (
	// bucketArcs is about how many arcs a bucket holds: its sort then works in the second-level cache.
	bucketArcs = 1 << 16
	// arcBits is how many bits an arc has while it lies in a bucket: 32 in the place its neighbour will take, 8 beside.
	arcBits = 40
	// staged is how many arcs a thread gathers for a bucket before it writes them there: a cache line of places.
	staged = 16
)

// scatter deals arcs to buckets: runs of rows, in the order of partitions and of vertices within, each with a run of
// the adjacency array of the size its rows need, duplicates included. Until the bucket is sorted, an arc lies anywhere
// in the run, as its row in the bucket and its neighbour's id, so the array needs no second copy.
//
//	40 bits of an arc:  | row in bucket | neighbour's id |
type scatter struct {
	b       *builder
	in      bool // rows are receivers
	idBits  uint
	buckets []bucket
	find    []uint32 // bucket by row / 64
	starts  []int    // first row of each partition

	low  []uint32 // the array of neighbours
	high []uint8  // the arcs' other bits
	w32  []float32
	w64  []float64
}

// bucket is a run of rows and its run of places. Rows start at multiples of 64 in their partition.
type bucket struct {
	part     int
	row      uint32 // first row, local
	rows     uint32
	at, size int // places
	kept     int // after the sort: how many hold neighbours
	next     atomic.Int64
}

// adjacency builds every partition's lists in one direction: of receivers (In) or senders (Out).
func (b *builder) adjacency(ctx context.Context, raw []uint32, in bool) error {
	s := &scatter{b: b, in: in, idBits: uint(max(bits.Len(uint(b.n-1)), 1))}
	if err := s.plan(raw); err != nil {
		return err
	}
	tmp := new(mem.Arena)
	defer tmp.Close()
	total := 0
	if n := len(s.buckets); n > 0 {
		total = s.buckets[n-1].at + s.buckets[n-1].size
	}
	s.low = mem.Make[uint32](b.g.arena, total)
	s.high = mem.Make[uint8](tmp, total)
	switch b.o.Weights {
	case edges.Float32:
		s.w32 = mem.Make[float32](b.g.arena, total)
	case edges.Float64:
		s.w64 = mem.Make[float64](b.g.arena, total)
	}
	if err := s.deal(ctx, tmp); err != nil {
		return err
	}
	counts := s.sort()
	tmp.Close()
	s.compact()
	s.lists(counts)
	return nil
}

// plan cuts the rows into buckets.
func (s *scatter) plan(raw []uint32) error {
	b := s.b
	maxRows := uint32(1) << min(arcBits-min(s.idBits, arcBits-6), 24)
	at := 0
	for i, p := range b.g.Parts {
		s.starts = append(s.starts, len(s.find)<<6)
		begin, open := at, (*bucket)(nil)
		for row := uint32(0); row < uint32(p.Owned); row += 64 {
			size := 0
			last := min(row+64, uint32(p.Owned))
			for l := row; l < last; l++ {
				size += int(raw[b.g.Order[p.Global(l)]])
			}
			if open == nil || open.size+size > bucketArcs || open.rows+64 > maxRows {
				s.buckets = append(s.buckets, bucket{})
				open = &s.buckets[len(s.buckets)-1]
				open.part, open.row, open.at = i, row, at
			}
			open.rows = last - open.row
			open.size += size
			at += size
			s.find = append(s.find, uint32(len(s.buckets)-1))
		}
		if at-begin > math.MaxUint32 {
			return tooMany(at - begin)
		}
	}
	for i := range s.buckets {
		s.buckets[i].next.Store(int64(s.buckets[i].at))
	}
	return nil
}

// stage is a thread's arcs on their way to the buckets.
type stage struct {
	low  []uint32
	high []uint8
	w    []float64
	n    []uint8
}

// deal reads the tuples and writes every arc into its bucket.
func (s *scatter) deal(ctx context.Context, tmp *mem.Arena) error {
	b := s.b
	// Which duplicate is the first, and how sums are rounded, must not depend on the threads.
	ordered := b.o.Duplicates == FirstDuplicate || b.o.Duplicates == SumDuplicates
	weighted := b.o.Weights != edges.Unweighted
	stages := make([]*stage, b.team.Size())
	run := func(worker int, block *edges.Block) error {
		st := stages[worker]
		if st == nil {
			n := len(s.buckets) * staged
			st = &stage{low: mem.Make[uint32](tmp, n), high: mem.Make[uint8](tmp, n), n: make([]uint8, len(s.buckets))}
			if weighted {
				st.w = mem.Make[float64](tmp, n)
			}
			stages[worker] = st
		}
		s.dealBlock(st, block)
		return nil
	}
	name := "building the in-edges"
	if !s.in {
		name = "building the out-edges"
	}
	var err error
	if ordered {
		err = b.scanInOrder(ctx, name, run)
	} else {
		err = b.scan(ctx, name, run)
	}
	if err != nil {
		return err
	}
	for _, st := range stages {
		if st == nil {
			continue
		}
		for k := range st.n {
			s.flush(st, uint32(k))
		}
	}
	return nil
}

func (s *scatter) dealBlock(st *stage, block *edges.Block) {
	ids, undirected, drop := s.b.g.IDs, !s.b.directed, s.b.o.DropLoops
	for i, u := range block.U[:block.N] {
		v := block.V[i]
		loop := u == v
		if loop && drop {
			continue
		}
		a, z := ids[u], ids[v]
		w := s.b.weight(block.W[i])
		if s.in || undirected {
			s.put(st, z, a, w)
		}
		if !s.in || undirected && !loop {
			s.put(st, a, z, w)
		}
	}
}

// put stages the arc from the row of one vertex to another.
func (s *scatter) put(st *stage, vertex, neighbor uint32, w float64) {
	row := vertex
	if parts := uint32(len(s.starts)); parts > 1 {
		part := vertex % parts
		row = uint32(s.starts[part]) + vertex/parts
	}
	k := s.find[row>>6]
	arc := uint64(row-s.firstRow(k))<<s.idBits | uint64(neighbor)
	n := st.n[k]
	at := int(k)*staged + int(n)
	st.low[at], st.high[at] = uint32(arc), uint8(arc>>32)
	if st.w != nil {
		st.w[at] = w
	}
	if n++; n == staged {
		st.n[k] = n
		s.flush(st, k)
		return
	}
	st.n[k] = n
}

// firstRow returns the first row of a bucket in the numbering over all partitions.
func (s *scatter) firstRow(k uint32) uint32 {
	b := &s.buckets[k]
	return uint32(s.starts[b.part]) + b.row
}

func (s *scatter) flush(st *stage, k uint32) {
	n := int(st.n[k])
	if n == 0 {
		return
	}
	st.n[k] = 0
	at := int(s.buckets[k].next.Add(int64(n))) - n
	from := int(k) * staged
	copy(s.low[at:at+n], st.low[from:])
	copy(s.high[at:at+n], st.high[from:])
	switch {
	case s.w32 != nil:
		for i, w := range st.w[from : from+n] {
			s.w32[at+i] = float32(w)
		}
	case s.w64 != nil:
		copy(s.w64[at:at+n], st.w[from:])
	}
}

// compact closes the gaps that dropped duplicates left between buckets.
func (s *scatter) compact() {
	at := 0
	for i := range s.buckets {
		k := &s.buckets[i]
		if at != k.at {
			copy(s.low[at:], s.low[k.at:k.at+k.kept])
			if s.w32 != nil {
				copy(s.w32[at:], s.w32[k.at:k.at+k.kept])
			}
			if s.w64 != nil {
				copy(s.w64[at:], s.w64[k.at:k.at+k.kept])
			}
		}
		k.at = at
		at += k.kept
	}
	arena := s.b.g.arena
	s.low = mem.Trim(arena, s.low, at)
	if s.w32 != nil {
		s.w32 = mem.Trim(arena, s.w32, at)
	}
	if s.w64 != nil {
		s.w64 = mem.Trim(arena, s.w64, at)
	}
}

// lists gives each partition its run of the arrays, with BCSR over it.
func (s *scatter) lists(counts []uint32) {
	b := s.b
	at, k := 0, 0
	for i, p := range b.g.Parts {
		end := at
		for ; k < len(s.buckets) && s.buckets[k].part == i; k++ {
			end = s.buckets[k].at + s.buckets[k].kept
		}
		a := &Adjacency{}
		a.Lists = bcsr(b.g.arena, counts[s.starts[i]:s.starts[i]+p.Owned], s.low[at:end:end])
		if s.w32 != nil {
			a.Weights32 = s.w32[at:end:end]
		}
		if s.w64 != nil {
			a.Weights64 = s.w64[at:end:end]
		}
		if s.in {
			p.In = a
		} else {
			p.Out = a
		}
		at = end
	}
}

// bcsr makes lists of rows of the lengths given.
func bcsr(arena *mem.Arena, counts []uint32, adj []uint32) pregel.Lists {
	words := (len(counts) + 63) / 64
	l := pregel.Lists{Adj: adj, Bits: mem.Make[uint64](arena, words), Rank: mem.Make[uint32](arena, words+1)}
	rows := uint32(0)
	for i, c := range counts {
		if i&63 == 0 {
			l.Rank[i>>6] = rows
		}
		if c > 0 {
			l.Bits[i>>6] |= 1 << (i & 63)
			rows++
		}
	}
	l.Rank[words] = rows
	l.Starts = mem.Make[uint32](arena, int(rows)+1)
	r, at := 0, uint32(0)
	for _, c := range counts {
		if c > 0 {
			l.Starts[r] = at
			at += c
			r++
		}
	}
	l.Starts[rows] = at
	return l
}
