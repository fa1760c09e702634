package graph

import (
	"math/bits"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// SenderRanges are lists by receiver that are cut by the slots of the senders, so that a pull of all messages can take the senders range by
// range, and those of a range fit in a cache. In degree order the first range, the hubs, has most of the arcs.
//
//	a list      0 3 7 9 | 70 81 | 300        cuts 64, 256
//	            first   | Rest[0] | Rest[1]
//
// The first part of each list is walked where it lies. The others are copied: of a list from which a few neighbours are wanted, more would be
// read from memory than these.
type SenderRanges struct {
	// Ends is, for each row of the lists, where the senders of the first range end.
	Ends []uint32
	// Rest are the lists of the other ranges: of the same receivers, but only those that have a neighbour there.
	Rest []kernel.Lists
}

// CutSenders cuts lists, each of which rises by slot, before the slots of cuts, which rise. What it makes lies in arena. Once it knows how many
// of the arcs it would copy, and how many bytes all of that takes, it asks whether to go on, and returns nil if not.
func (a *Adjacency) CutSenders(cuts []uint32, team *parallel.Team, arena *mem.Arena, accept func(arcs int, bytes int64) bool) *SenderRanges {
	words := len(a.Bits)
	c := &senderCutter{a: a, cuts: cuts, first: make([][]uint32, len(cuts)), out: &SenderRanges{
		Ends: mem.Make[uint32](arena, len(a.Starts)-1), Rest: make([]kernel.Lists, len(cuts)),
	}}
	for k := range c.out.Rest {
		c.out.Rest[k] = kernel.Lists{Bits: mem.Make[uint64](arena, words), Rank: mem.Make[uint32](arena, words+1)}
		c.first[k] = make([]uint32, words+1)
	}
	const grain = 256
	team.For(words, grain, func(_, lo, hi int) {
		for w := lo; w < hi; w++ {
			c.count(w)
		}
	})
	arcs, bytes := 0, int64(0)
	for k := range c.out.Rest {
		l, rows, n := &c.out.Rest[k], uint32(0), uint32(0)
		for w := range words {
			l.Rank[w], rows = rows, rows+uint32(bits.OnesCount64(l.Bits[w]))
			c.first[k][w], n = n, n+c.first[k][w]
		}
		l.Rank[words], c.first[k][words] = rows, n
		arcs += int(n)
		bytes += 4 * (int64(rows) + 1 + int64(n))
	}
	if !accept(arcs, bytes) {
		return nil
	}
	for k := range c.out.Rest {
		l := &c.out.Rest[k]
		l.Starts = mem.Make[uint32](arena, int(l.Rank[words])+1)
		l.Adj = mem.Make[uint32](arena, int(c.first[k][words]))
		l.Starts[l.Rank[words]] = c.first[k][words]
	}
	team.For(words, grain, func(_, lo, hi int) {
		for w := lo; w < hi; w++ {
			c.copy(w)
		}
	})
	return c.out
}

// senderCutter makes SenderRanges.
type senderCutter struct {
	a     *Adjacency
	cuts  []uint32
	first [][]uint32 // of each range but the first, by word: how many arcs it has, then how many are before it
	out   *SenderRanges
}

// count finds where the first part ends of the lists of word w, and which parts follow.
func (c *senderCutter) count(w int) {
	r := c.a.Rank[w]
	for rows := c.a.Bits[w]; rows != 0; rows &= rows - 1 {
		i := bits.TrailingZeros64(rows)
		lo, hi := c.a.Starts[r], c.a.Starts[r+1]
		c.out.Ends[r] = c.end(0, lo, hi)
		c.rest(c.out.Ends[r], hi, func(k int, from, to uint32) {
			c.out.Rest[k].Bits[w] |= 1 << i
			c.first[k][w] += to - from
		})
		r++
	}
}

// copy copies the parts after the first of the lists of word w.
func (c *senderCutter) copy(w int) {
	r := c.a.Rank[w]
	for rows := c.a.Bits[w]; rows != 0; rows &= rows - 1 {
		i := bits.TrailingZeros64(rows)
		c.rest(c.out.Ends[r], c.a.Starts[r+1], func(k int, from, to uint32) {
			l := &c.out.Rest[k]
			row := l.Rank[w] + uint32(bits.OnesCount64(l.Bits[w]&(1<<i-1)))
			l.Starts[row] = c.first[k][w]
			c.first[k][w] += uint32(copy(l.Adj[c.first[k][w]:], c.a.Adj[from:to]))
		})
		r++
	}
}

// rest calls f for every part of a list, from lo to hi in Adj, that is not empty; all its senders are at or after the first cut.
func (c *senderCutter) rest(lo, hi uint32, f func(k int, from, to uint32)) {
	for k := 0; lo < hi; k++ {
		to := hi
		if k+1 < len(c.cuts) {
			to = c.end(k+1, lo, hi)
		}
		if to > lo {
			f(k, lo, to)
		}
		lo = to
	}
}

// end returns where the senders before cut k end in Adj[lo:hi].
func (c *senderCutter) end(k int, lo, hi uint32) uint32 {
	list, cut := c.a.Adj[lo:hi], c.cuts[k]
	if list[len(list)-1] < cut {
		return hi
	}
	return lo + uint32(sort.Search(len(list), func(j int) bool { return list[j] >= cut }))
}
