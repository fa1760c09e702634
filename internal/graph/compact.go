package graph

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// compact closes the gaps that dropped duplicates have left between buckets.
func (s *Scatter) compact() {
	at := 0
	for i := range s.buckets {
		k := &s.buckets[i]
		if at != k.at {
			copy(s.low[at:], s.low[k.at:k.at+k.kept])
			s.w.Copy(at, s.w.Slice(k.at, k.at+k.kept))
		}
		k.at = at
		at += k.kept
	}
	arena := s.lists
	s.low = mem.Trim(arena, s.low, at)
	if s.w.Single != nil {
		s.w.Single = mem.Trim(arena, s.w.Single, at)
	}
	if s.w.Double != nil {
		s.w.Double = mem.Trim(arena, s.w.Double, at)
	}
}

// cutLists divides the arrays among the partitions, and makes BCSR for each. counts has the rows'
// lengths, by partition.
func (s *Scatter) cutLists(counts [][]uint32) {
	at, k := 0, 0
	for p := range s.a.g.here() {
		end := at
		for ; k < len(s.buckets) && s.buckets[k].part == p.Index; k++ {
			end = s.buckets[k].at + s.buckets[k].kept
		}
		a := &Adjacency{Lists: bcsr(s.lists, counts[p.Index], s.low[at:end:end])}
		w := s.w.Slice(at, end)
		a.Weights32, a.Weights64 = w.Single, w.Double
		if s.in {
			p.In = a
		} else {
			p.Out = a
		}
		at = end
	}
}

// bcsr makes lists of rows with these lengths.
func bcsr(arena *mem.Arena, counts []uint32, adj []uint32) kernel.Lists {
	words := (len(counts) + 63) / 64
	l := kernel.Lists{
		Adj: adj, Bits: mem.Make[uint64](arena, words), Rank: mem.Make[uint32](arena, words+1),
		Same: mem.Make[uint32](arena, words),
	}
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
	for w := range l.Same {
		l.Same[w] = same(l.Starts[l.Rank[w] : l.Rank[w+1]+1])
	}
	return l
}

// same returns the common length of all rows between these starts, or 0 if lengths differ or there
// are no rows.
func same(starts []uint32) uint32 {
	length := uint32(0)
	for i, end := range starts[1:] {
		if i == 0 {
			length = end - starts[0]
		} else if end-starts[i] != length {
			return 0
		}
	}
	return length
}
