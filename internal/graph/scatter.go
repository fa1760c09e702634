package graph

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// narrowBits and wideBits are how many bits an arc has while it lies in a bucket: 32 in the
	// place its neighbour will take, and, if there would be more than limits.narrowBuckets
	// otherwise, 8 beside.
	narrowBits, wideBits = 32, 40
	// singleRows is how many rows of a partition may each be a bucket of their own: the hubs. After
	// them buckets begin at multiples of 64 rows, so that a row's bucket is found in a table that
	// fits in a cache.
	singleRows = 4096
)

// Scatter deals arcs to buckets: runs of rows, in the order of partitions and of vertices within,
// each with a run of the adjacency array of the size its rows need, duplicates included. Until the
// bucket is sorted, an arc lies anywhere in the run, as its row in the bucket and its neighbour's
// id, so the array needs no second copy.
//
//	bits of an arc:  | row in bucket | neighbour's id |
type Scatter struct {
	a       *Builder
	in      bool       // rows are receivers
	tmp     *mem.Arena // of what is needed until the buckets are sorted
	lists   *mem.Arena // of the lists
	idBits  uint
	arcBits uint
	buckets []bucket

	stages []*stage

	low  []uint32 // the array of neighbours
	high []uint8  // the arcs' other bits, if arcBits is wideBits
	w    WeightColumn

	plain bool // there is only low
}

// place returns where in Deal.find a row's bucket stands. Nobody can predict what row comes next, so it
// takes no branch.
func place(row uint32) uint32 {
	behind := int64(row) - singleRows
	single := behind >> 63
	return uint32(singleRows + behind&single + (behind&^single)>>6)
}

// rowOf returns the first row of a place.
func rowOf(place uint32) uint32 {
	return min(place, singleRows) + (max(place, singleRows)-singleRows)<<6
}

// idBits is how many bits a neighbour's id takes.
func idBits(n int) uint { return uint(max(bits.Len(uint(max(n, 1)-1)), limits.idBits)) }

// bucket is a run of rows and its run of places in the array.
type bucket struct {
	part      int
	row, rows uint32 // local
	at, size  int
	kept      int // after the sort: how many hold neighbours
	next      atomic.Int64
}

// newScatter makes empty buckets for the partitions' lists in one direction. length returns the
// number of arcs of a row, with duplicates.
func (a *Builder) newScatter(in bool, length func(p *Partition, row uint32) int) (*Scatter, error) {
	s := &Scatter{
		a: a, in: in, tmp: &mem.Arena{Budget: a.o.Budget, Kind: mem.Loading},
		stages: make([]*stage, a.team.Size()),
		idBits: idBits(a.g.N), arcBits: narrowBits, lists: a.outLists,
	}
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

// Finish makes the lists, when all arcs have been put.
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

// wordBits is the bits of a row's number in the smallest bucket, of 64 rows.
const wordBits = 6

// rowBits is how many of an arc's bits are left to number the rows of a bucket.
func rowBits(arcBits, idBits uint) uint { return min(arcBits-idBits, 24) }

// plan cuts the rows that have arcs into buckets.
func (s *Scatter) plan(length func(p *Partition, row uint32) int) error {
	g := s.a.g
	s.buckets = nil
	maxRows := uint32(1) << rowBits(s.arcBits, s.idBits)
	at := 0
	for p := range g.here() {
		begin, open := at, -1
		connected := uint32(owned(g.Connected, p.Index, len(g.Parts)))
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

// Tuples takes a block of tuples between input vertices, whose ids are given, to the buckets, which
// d tells: each where its arcs of this direction belong, loops and weights as the options say. Each
// worker of the team may call it at the same time. It goes one step at a time for all of them: a
// loop that does little has more of its memory reads under way at once.
func (s *Scatter) Tuples(worker int, block *edges.Block, ids []uint32, d *Deal) {
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
		step = 1 // both ends of a tuple before the next
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

// put stages the arcs of tuples [lo, hi), with loops unless noLoops is set.
func (s *Scatter) put(st *stage, block *edges.Block, lo, hi int, in *[edges.BlockSize]uint32, arcs *[edges.BlockSize]uint64, noLoops bool) {
	for i := lo; i < hi; i++ {
		if noLoops && block.U[i] == block.V[i] {
			continue
		}
		k, arc := in[i], arcs[i]
		n := st.n[k]
		// and was some time ago: what has just been written cannot be read in larger pieces at once
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
