package graph

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// narrowBits and wideBits are the sizes of an arc in a bucket. It has 32 bits, in the place of
	// its neighbour, and 8 more bits elsewhere if there would otherwise be more than
	// limits.narrowBuckets buckets.
	narrowBits, wideBits = 32, 40
	// singleRows is the number of rows of a partition, the hubs, that may each have their own
	// bucket. After them buckets begin at multiples of 64 rows, so that the table for finding a
	// row's bucket fits into a cache.
	singleRows = 4096
)

// Scatter distributes arcs to buckets. A bucket is a range of rows, in the order of partitions and
// of their vertices. It has a range of the adjacency array, large enough for its rows including
// duplicates. Until the bucket is sorted, its arcs are there in any order, each as its row in the
// bucket and its neighbour's id. So the array needs no second copy.
//
//	bits of an arc:  | row in bucket | neighbour's id |
type Scatter struct {
	a       *Builder
	in      bool       // rows are receivers
	tmp     *mem.Arena // memory until the buckets are sorted
	lists   *mem.Arena // memory of the lists
	idBits  uint
	arcBits uint
	buckets []bucket

	stages []*stage

	low  []uint32 // the array of neighbours
	high []uint8  // the arcs' other bits, if arcBits is wideBits
	w    WeightColumn

	plain bool // there are neither high bits nor weights
}

// place returns the index in BucketMap.find for a row. Rows are unpredictable, so it has no branch.
func place(row uint32) uint32 {
	behind := int64(row) - singleRows
	single := behind >> 63
	return uint32(singleRows + behind&single + (behind&^single)>>6)
}

// rowOf returns the first row of a place.
func rowOf(place uint32) uint32 {
	return min(place, singleRows) + (max(place, singleRows)-singleRows)<<6
}

// idBits returns the number of bits of a neighbour's id.
func idBits(n int) uint { return uint(max(bits.Len(uint(max(n, 1)-1)), limits.idBits)) }

// bucket is a range of rows, and its range of the array.
type bucket struct {
	part      int
	row, rows uint32 // local indices
	at, size  int
	kept      int // after the sort: the number of arcs without dropped duplicates
	next      atomic.Int64
}

// Scatter allocates the lists of in-edges or, in a directed graph, of out-edges, and makes their
// empty buckets. length returns the number of arcs of a row, including duplicates. In a 2D grid the
// lists of out-edges become the blocks of reversed arcs.
func (a *Builder) Scatter(in bool, length func(p *Partition, row uint32) int) (*Scatter, error) {
	s := &Scatter{
		a: a, in: in, tmp: &mem.Arena{Budget: a.o.Budget, Kind: mem.Loading},
		stages: make([]*stage, a.team.Size()),
		idBits: idBits(a.g.N), arcBits: narrowBits, lists: a.outLists,
	}
	a.open = append(a.open, s)
	if in {
		s.lists = a.lists
	}
	if rowBits(s.arcBits, s.idBits) < wordBits {
		s.arcBits = wideBits
	}
	if err := s.plan(length); err != nil {
		return nil, err
	}
	if s.arcBits == narrowBits && len(s.buckets) > limits.narrowBuckets {
		s.arcBits = wideBits
		if err := s.plan(length); err != nil {
			return nil, err
		}
	}
	total := 0
	if n := len(s.buckets); n > 0 {
		total = s.buckets[n-1].at + s.buckets[n-1].size
	}
	s.low = mem.Make[uint32](s.lists, total)
	if s.arcBits == wideBits {
		s.high = mem.Make[uint8](s.tmp, total)
	}
	s.w = MakeWeights(s.lists, a.o.Weights, total)
	s.plain = s.high == nil && a.o.Weights == edges.Unweighted
	return s, nil
}

// Finish makes the lists, after all arcs have been added.
func (s *Scatter) Finish(ctx context.Context) error {
	if err := s.flushAll(); err != nil {
		return err
	}
	counts, err := s.sort(ctx)
	if err != nil {
		return err
	}
	s.tmp.Close()
	s.compact()
	s.cutLists(counts)
	return nil
}

// wordBits is the number of bits of a row's number in the smallest bucket, which has 64 rows.
const wordBits = 6

// rowBits returns the number of an arc's bits that can number the rows of a bucket.
func rowBits(arcBits, idBits uint) uint { return min(arcBits-idBits, 24) }

// plan divides the rows that have arcs into buckets.
func (s *Scatter) plan(length func(p *Partition, row uint32) int) error {
	g := s.a.g
	s.buckets = nil
	maxRows := uint32(1) << rowBits(s.arcBits, s.idBits)
	at := 0
	for p := range g.here() {
		begin, open := at, -1
		connected := uint32(g.Deal.Owned(g.Connected, p.Index))
		for row := uint32(0); row < connected; {
			last := row + 1
			if row >= singleRows {
				last = min(row+64, connected)
			}
			size := 0
			for l := row; l < last; l++ {
				size += length(p, l)
			}
			if k := open; k < 0 || s.buckets[k].size+size > limits.bucketArcs ||
				last-s.buckets[k].row > maxRows {
				open = len(s.buckets)
				s.buckets = append(s.buckets, bucket{part: p.Index, row: row, at: at})
			}
			k := &s.buckets[open]
			k.rows = last - k.row
			k.size += size
			at += size
			row = last
		}
		if err := checkArcs(at - begin); err != nil {
			return err
		}
	}
	for i := range s.buckets {
		s.buckets[i].next.Store(int64(s.buckets[i].at))
	}
	return nil
}

// Tuples puts the arcs of a block of tuples into the buckets. The tuples are between input
// vertices; ids has the vertices' ids. d finds the buckets. Loops and weights are treated by the
// options. The workers of the team may call it at the same time. Each step is a separate loop over
// the block: a short loop has more memory reads in flight.
func (s *Scatter) Tuples(worker int, block *edges.Block, ids []uint32, d *BucketMap) {
	st, n := s.stage(worker), block.N
	for i, u := range block.U[:n] {
		st.a[i] = ids[u]
	}
	for i, v := range block.V[:n] {
		st.z[i] = ids[v]
	}
	if s.a.o.UnitWeights {
		for i := range block.W {
			block.W[i] = 1
		}
	}
	undirected := !s.a.g.Directed
	if s.in || undirected {
		d.Locate(st.z[:n], st.a[:n], st.inZ[:n], st.arcZ[:n])
	}
	if !s.in || undirected {
		d.Locate(st.a[:n], st.z[:n], st.inA[:n], st.arcA[:n])
	}
	step := n
	if undirected && s.a.o.Ordered() {
		step = 1 // both ends of a tuple before the next tuple
	}
	for lo := 0; lo < n; lo += step {
		if s.in || undirected {
			s.put(st, block, lo, lo+step, &st.inZ, &st.arcZ, s.a.o.DropLoops)
		}
		if !s.in || undirected {
			s.put(st, block, lo, lo+step, &st.inA, &st.arcA, s.a.o.DropLoops || undirected)
		}
	}
}

// put stages the arcs of tuples [lo, hi). noLoops omits loops.
func (s *Scatter) put(
	st *stage, block *edges.Block, lo, hi int,
	in *[edges.BlockSize]uint32, arcs *[edges.BlockSize]uint64, noLoops bool,
) {
	for i := lo; i < hi; i++ {
		if noLoops && block.U[i] == block.V[i] {
			continue
		}
		k, arc := in[i], arcs[i]
		n := st.n[k]
		// Checked before the next put, not after the last: wide reads of bytes that have just been
		// written are slow.
		if n == staged {
			s.flush(st, k)
			n = 0
		}
		at := int(k)*staged + int(n)
		st.low[at] = uint32(arc)
		if st.high != nil {
			st.high[at] = uint8(arc >> 32)
		}
		if st.weighted {
			st.w.Set(at, block.W[i])
		}
		st.n[k] = n + 1
	}
}
