package graph

import (
	"context"
	"math/bits"
	"sort"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// A SenderRange has the parts of lists by receiver whose senders lie in one range of slots. A pull of all messages takes range by range, so that the
// messages of one fit in a cache. In degree order the first range, the hubs, has most of the arcs.
//
//	a list      0 3 7 9 | 70 81 | 300        cuts 64, 256
//
// The senders of a range that is not wider than 2^16 slots take 16 bits each: half of what is read from memory. Short lists are not cut: a part of
// one or two arcs costs more than the cache misses of theirs.
type SenderRange struct {
	// Lists are of the receivers with long lists that have a sender in the range. Adj is nil if Adj16 is not.
	kernel.Lists
	// Adj16 are the senders, as how far they are beyond slot First.
	Adj16 []uint16
	First uint32
}

// Width16 is how many slots a range has at the most whose senders take 16 bits.
const Width16 = 1 << 16

// CutSenders cuts the long lists of the first receivers, each of which rises by slot, before the slots of cuts, which rise. A list of one of these has more than
// short arcs, on average of 64 receivers. What it makes lies in arena. Once it knows how many arcs each range has, and how many bytes all of that takes, it
// asks whether to go on, and returns nil if not, or if ctx ended. Uncut are the lists that it leaves whole.
func (a *Adjacency) CutSenders(
	ctx context.Context, cuts []uint32, short int, team *parallel.Team, arena *mem.Arena, accept func(arcs []int, bytes int64) bool,
) (ranges []SenderRange, uncut *kernel.Lists, err error) {
	words := len(a.Bits)
	c := &senderCutter{a: a, cuts: cuts, before: make([][]uint32, len(cuts)+1), out: make([]SenderRange, len(cuts)+1)}
	for k := range c.out {
		c.out[k].Lists = kernel.Lists{Bits: mem.Make[uint64](arena, words), Rank: mem.Make[uint32](arena, words+1)}
		c.before[k] = make([]uint32, words+1)
		if k > 0 {
			c.out[k].First = cuts[k-1]
		}
	}
	for c.words < words && int(a.Starts[a.Rank[c.words+1]]-a.Starts[a.Rank[c.words]]) > short*int(a.Rank[c.words+1]-a.Rank[c.words]) {
		c.words++
	}
	const grain = 8 // the first words have most arcs
	team.For(c.words, grain, func(_, lo, hi int) {
		for w := lo; w < hi && ctx.Err() == nil; w++ {
			c.count(w)
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	arcs, bytes := make([]int, len(c.out)), int64(0)
	for k := range c.out {
		l, rows, n := &c.out[k], uint32(0), uint32(0)
		for w := range words {
			l.Rank[w], rows = rows, rows+uint32(bits.OnesCount64(l.Bits[w]))
			c.before[k][w], n = n, n+c.before[k][w]
		}
		l.Rank[words], c.before[k][words] = rows, n
		arcs[k] = int(n)
		bytes += 4*(int64(rows)+1) + int64(n)*int64(c.width(k))
	}
	if !accept(arcs, bytes) {
		return nil, nil, nil
	}
	for k := range c.out {
		l := &c.out[k]
		l.Starts = mem.Make[uint32](arena, int(l.Rank[words])+1)
		l.Starts[l.Rank[words]] = c.before[k][words]
		if c.width(k) == 2 {
			l.Adj16 = mem.Make[uint16](arena, arcs[k])
		} else {
			l.Adj = mem.Make[uint32](arena, arcs[k])
		}
	}
	team.For(c.words, grain, func(_, lo, hi int) {
		for w := lo; w < hi && ctx.Err() == nil; w++ {
			c.copy(w)
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	uncut = &kernel.Lists{Bits: mem.Make[uint64](arena, words), Rank: a.Rank, Starts: a.Starts, Adj: a.Adj}
	copy(uncut.Bits[c.words:], a.Bits[c.words:])
	return c.out, uncut, nil
}

// senderCutter makes the ranges.
type senderCutter struct {
	a      *Adjacency
	cuts   []uint32
	words  int        // that have long lists
	before [][]uint32 // of each range, by word: how many arcs it has, then how many are before it
	out    []SenderRange
}

// width is how many bytes each sender of a range takes.
func (c *senderCutter) width(k int) int {
	if k < len(c.cuts) && c.cuts[k]-c.out[k].First <= Width16 {
		return 2
	}
	return 4
}

// count finds which parts the lists of word w have, and how long they are together.
func (c *senderCutter) count(w int) {
	c.parts(w, func(k, i int, part []uint32) {
		c.out[k].Bits[w] |= 1 << i
		c.before[k][w] += uint32(len(part))
	})
}

// copy copies the parts of the lists of word w.
func (c *senderCutter) copy(w int) {
	c.parts(w, func(k, i int, part []uint32) {
		l, at := &c.out[k], c.before[k][w]
		l.Starts[l.Rank[w]+uint32(bits.OnesCount64(l.Bits[w]&(1<<i-1)))] = at
		c.before[k][w] += uint32(len(part))
		if l.Adj16 == nil {
			copy(l.Adj[at:], part)
			return
		}
		to := l.Adj16[at:][:len(part)]
		for j, s := range part {
			to[j] = uint16(s - l.First)
		}
	})
}

// parts calls f for every part, that is not empty, of the list of each receiver i of word w.
func (c *senderCutter) parts(w int, f func(k, i int, part []uint32)) {
	r := c.a.Rank[w]
	for rows := c.a.Bits[w]; rows != 0; rows &= rows - 1 {
		list := c.a.Adj[c.a.Starts[r]:c.a.Starts[r+1]]
		for k := 0; len(list) > 0; k++ {
			n := len(list)
			if k < len(c.cuts) && list[n-1] >= c.cuts[k] {
				n = below(list, c.cuts[k])
			}
			if n > 0 {
				f(k, bits.TrailingZeros64(rows), list[:n])
			}
			list = list[n:]
		}
		r++
	}
}

// below returns how many slots of a rising list are below a cut. Most lists are short: they are counted through, without a branch that is mispredicted.
func below(list []uint32, cut uint32) (n int) {
	if len(list) > 64 {
		return sort.Search(len(list), func(j int) bool { return list[j] >= cut })
	}
	for _, s := range list {
		n += int((uint64(s) - uint64(cut)) >> 63)
	}
	return n
}
