package graph

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// bucketArcs is about how many arcs a bucket holds: its sort then works in the second-level cache.
	bucketArcs = 1 << 16
	// narrowBits and wideBits are how many bits an arc has while it lies in a bucket: 32 in the place its neighbour will
	// take, and, if there would be more than narrowBuckets otherwise, 8 beside.
	narrowBits, wideBits = 32, 40
	narrowBuckets        = 8 << 10
	// staged is how many arcs a thread gathers for a bucket before it writes them there: a cache line of places.
	staged = 16
	// singleRows is how many rows of a partition may each be a bucket of their own: the hubs. After them buckets begin at
	// multiples of 64 rows, so that a row's bucket is found in a table that fits in a cache.
	singleRows = 4096
)

// scatter deals arcs to buckets: runs of rows, in the order of partitions and of vertices within, each with a run of
// the adjacency array of the size its rows need, duplicates included. Until the bucket is sorted, an arc lies anywhere
// in the run, as its row in the bucket and its neighbour's id, so the array needs no second copy.
//
//	bits of an arc:  | row in bucket | neighbour's id |
type scatter struct {
	b       *builder
	in      bool // rows are receivers
	idBits  uint
	arcBits uint
	buckets []bucket
	parts   []places

	low  []uint32 // the array of neighbours
	high []uint8  // the arcs' other bits, if arcBits is wideBits
	w32  []float32
	w64  []float64
}

// places finds the bucket of a partition's row: find[place(row)] is the bucket's number and its first row.
type places struct {
	find []uint64 // bucket << 32 | first row
}

// place returns where in find a row's bucket stands.
func place(row uint32) uint32 { return min(row, singleRows) + (max(row, singleRows)-singleRows)>>6 }

// bucket is a run of rows and its run of places in the array.
type bucket struct {
	part      int
	row, rows uint32 // local
	at, size  int
	kept      int // after the sort: how many hold neighbours
	next      atomic.Int64
}

// adjacency builds every partition's lists in one direction: of receivers (In) or senders (Out). raw are the rows'
// lengths, duplicates included, by input vertex.
func (b *builder) adjacency(ctx context.Context, raw []uint32, in bool) error {
	s := &scatter{b: b, in: in, idBits: uint(max(bits.Len(uint(b.n-1)), 1)), arcBits: narrowBits}
	if rowBits(s.arcBits, s.idBits) < wordBits {
		s.arcBits = wideBits
	}
	if err := s.plan(raw); err != nil {
		return err
	}
	if s.arcBits == narrowBits && len(s.buckets) > narrowBuckets {
		s.arcBits = wideBits
		if err := s.plan(raw); err != nil {
			return err
		}
	}
	tmp := new(mem.Arena)
	defer tmp.Close()
	total := 0
	if n := len(s.buckets); n > 0 {
		total = s.buckets[n-1].at + s.buckets[n-1].size
	}
	s.low = mem.Make[uint32](b.lists, total)
	if s.arcBits == wideBits {
		s.high = mem.Make[uint8](tmp, total)
	}
	switch b.o.Weights {
	case edges.Float32:
		s.w32 = mem.Make[float32](b.lists, total)
	case edges.Float64:
		s.w64 = mem.Make[float64](b.lists, total)
	}
	if err := s.deal(ctx, tmp); err != nil {
		return err
	}
	counts, err := s.sort(ctx)
	if err != nil {
		return err
	}
	tmp.Close()
	s.compact()
	s.lists(counts)
	return nil
}

// wordBits is what the 64 rows need that a bucket holds at the least.
const wordBits = 6

// rowBits is how many of an arc's bits are left to number the rows of a bucket.
func rowBits(arcBits, idBits uint) uint { return min(arcBits-idBits, 24) }

// plan cuts the rows that have arcs into buckets.
func (s *scatter) plan(raw []uint32) error {
	b := s.b
	s.buckets, s.parts = nil, nil
	maxRows := uint32(1) << rowBits(s.arcBits, s.idBits)
	at := 0
	for i, p := range b.g.Parts {
		begin, open := at, -1
		connected := uint32(owned(b.g.Connected, i, len(b.g.Parts)))
		find := make([]uint64, place(uint32(p.Owned))+1) // of rows without arcs but dropped loops, it is never used
		for row := uint32(0); row < connected; {
			last := row + 1
			if row >= singleRows {
				last = min(row+64, connected)
			}
			size := 0
			for l := row; l < last; l++ {
				size += int(raw[b.g.Order[p.Global(l)]])
			}
			if k := open; k < 0 || s.buckets[k].size+size > bucketArcs || last-s.buckets[k].row > maxRows {
				open = len(s.buckets)
				s.buckets = append(s.buckets, bucket{part: i, row: row, at: at})
			}
			k := &s.buckets[open]
			k.rows = last - k.row
			k.size += size
			at += size
			find[place(row)] = uint64(open)<<32 | uint64(k.row)
			row = last
		}
		s.parts = append(s.parts, places{find})
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

	// A block's tuples, step by step: handles, rows, and where these belong.
	a, z       [edges.BlockSize]uint32
	rowA, rowZ [edges.BlockSize]uint32
	inA, inZ   [edges.BlockSize]uint64
}

// deal reads the tuples and writes every arc into its bucket.
func (s *scatter) deal(ctx context.Context, tmp *mem.Arena) error {
	b := s.b
	stages := make([]*stage, b.team.Size())
	run := func(worker int, block *edges.Block) error {
		if stages[worker] == nil {
			n := len(s.buckets) * staged
			stages[worker] = &stage{low: mem.Make[uint32](tmp, n), n: make([]uint8, len(s.buckets))}
			if s.high != nil {
				stages[worker].high = mem.Make[uint8](tmp, n)
			}
			if b.o.Weights != edges.Unweighted {
				stages[worker].w = mem.Make[float64](tmp, n)
			}
		}
		s.dealBlock(stages[worker], block)
		return nil
	}
	name, scan := "building the in-edges", b.scan
	if !s.in {
		name = "building the out-edges"
	}
	if b.ordered() {
		scan = b.scanInOrder
	}
	if err := scan(ctx, name, run); err != nil {
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

// dealBlock takes a block's tuples to the buckets, one step at a time for all of them: a loop that does little has more
// of its memory reads under way at once.
func (s *scatter) dealBlock(st *stage, block *edges.Block) {
	ids, n := s.b.g.IDs, block.N
	for i, u := range block.U[:n] {
		st.a[i] = ids[u]
	}
	for i, v := range block.V[:n] {
		st.z[i] = ids[v]
	}
	undirected := !s.b.directed
	if s.in || undirected {
		s.locate(st.z[:n], &st.rowZ, &st.inZ)
	}
	if !s.in || undirected {
		s.locate(st.a[:n], &st.rowA, &st.inA)
	}
	step := n
	if undirected && s.b.ordered() {
		step = 1 // both ends of a tuple before the next
	}
	for lo := 0; lo < n; lo += step {
		if s.in || undirected {
			s.put(st, block, lo, lo+step, &st.rowZ, &st.inZ, &st.a, false)
		}
		if !s.in || undirected {
			s.put(st, block, lo, lo+step, &st.rowA, &st.inA, &st.z, undirected)
		}
	}
}

// ordered reports whether the order of the input matters: which duplicate is the first, and how sums are rounded.
func (b *builder) ordered() bool {
	return b.o.Duplicates == FirstDuplicate || b.o.Duplicates == SumDuplicates
}

// locate finds the rows of vertices, and their buckets.
func (s *scatter) locate(vertices []uint32, rows *[edges.BlockSize]uint32, in *[edges.BlockSize]uint64) {
	if len(s.parts) == 1 {
		find := s.parts[0].find
		for i, v := range vertices {
			rows[i&(edges.BlockSize-1)] = v
			in[i&(edges.BlockSize-1)] = find[place(v)]
		}
		return
	}
	parts := uint32(len(s.parts))
	for i, v := range vertices {
		row := v / parts
		rows[i] = row
		in[i] = s.parts[v-row*parts].find[place(row)]
	}
}

// put stages the arcs of tuples [lo, hi) from rows to neighbours; loops are left out if they are dropped, or were put already.
func (s *scatter) put(st *stage, block *edges.Block, lo, hi int, rows *[edges.BlockSize]uint32, in *[edges.BlockSize]uint64, to *[edges.BlockSize]uint32, twice bool) {
	noLoops := s.b.o.DropLoops || twice
	for i := lo; i < hi; i++ {
		if noLoops && block.U[i] == block.V[i] {
			continue
		}
		k := uint32(in[i] >> 32)
		arc := uint64(rows[i]-uint32(in[i]))<<s.idBits | uint64(to[i])
		n := st.n[k]
		at := int(k)*staged + int(n)
		st.low[at] = uint32(arc)
		if st.high != nil {
			st.high[at] = uint8(arc >> 32)
		}
		if st.w != nil {
			st.w[at] = s.b.weight(block.W[i])
		}
		st.n[k] = n + 1
		if n+1 == staged {
			s.flush(st, k)
		}
	}
}

// flush writes a bucket's staged arcs into it.
func (s *scatter) flush(st *stage, k uint32) {
	n := int(st.n[k])
	if n == 0 {
		return
	}
	st.n[k] = 0
	at := int(s.buckets[k].next.Add(int64(n))) - n
	from := int(k) * staged
	if n == staged {
		*(*[staged]uint32)(s.low[at:]) = *(*[staged]uint32)(st.low[from:])
	} else {
		copy(s.low[at:at+n], st.low[from:])
	}
	if s.high != nil {
		copy(s.high[at:at+n], st.high[from:])
	}
	switch {
	case s.w32 != nil:
		for i, w := range st.w[from : from+n] {
			s.w32[at+i] = float32(w)
		}
	case s.w64 != nil:
		copy(s.w64[at:at+n], st.w[from:])
	}
}
