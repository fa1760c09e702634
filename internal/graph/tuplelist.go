package graph

import (
	"math/bits"
	"sort"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
)

// tupleList has the stored edges of a graph as tuples between input vertices, or between VertexIDs
// if the graph has no maps. It reads them from the partitions' lists by receiver, without copying
// them all. An undirected edge is read as the arc from its smaller id. Lists are in ascending order
// of ids, so these arcs are at the beginnings of lists.
type tupleList struct {
	g      *Graph
	once   sync.Once
	blocks []tuplePlace // where each block begins
	n      int
}

// tuplePlace is an arc of a partition: its row, and its index in the lists.
type tuplePlace struct{ part, row, arc uint32 }

// lists returns the lists with a partition's arcs.
func (t *tupleList) lists(part int) *kernel.Lists {
	return &t.g.Parts[part].along.Pull.ByReceiver.Lists
}

// row returns the range of a row's arcs that are tuples.
func (t *tupleList) row(p *Partition, l *kernel.Lists, slot uint32) (lo, hi uint32) {
	lo, hi = l.Row(slot)
	if t.g.Directed || lo == hi {
		return lo, hi
	}
	id := p.slots.ID(slot)
	return lo, lo + uint32(
		sort.Search(int(hi-lo), func(i int) bool { return p.slots.ID(l.Adj[lo+uint32(i)]) > id }))
}

// walk calls f with the rows of arcs, from a place on, until f returns false.
func (t *tupleList) walk(from tuplePlace, f func(part int, slot, lo, hi uint32) bool) {
	for part := int(from.part); part < len(t.g.Parts); part, from = part+1, (tuplePlace{}) {
		p := t.g.Parts[part]
		if p == nil {
			continue
		}
		l := t.lists(part)
		for w := int(from.row >> 6); w < len(l.Bits); w++ {
			word := l.Bits[w]
			if w == int(from.row>>6) {
				word &= ^uint64(0) << (from.row & 63)
			}
			for ; word != 0; word &= word - 1 {
				slot := uint32(w<<6 + bits.TrailingZeros64(word))
				lo, hi := t.row(p, l, slot)
				if slot == from.row {
					lo = max(lo, from.arc)
				}
				if !f(part, slot, lo, hi) {
					return
				}
			}
		}
	}
}

// find finds the beginnings of blocks.
func (t *tupleList) find() {
	t.walk(tuplePlace{}, func(part int, slot, lo, hi uint32) bool {
		before := t.n
		t.n += int(hi - lo)
		for next := len(t.blocks) * edges.BlockSize; next < t.n; next += edges.BlockSize {
			t.blocks = append(t.blocks, tuplePlace{uint32(part), slot, lo + uint32(next-before)})
		}
		return true
	})
}

// Len implements edges.List.
func (t *tupleList) Len() int {
	t.once.Do(t.find)
	return t.n
}

// Weighted implements edges.List.
func (t *tupleList) Weighted() bool { return t.g.Weights != edges.Unweighted }

// Read implements edges.List. It never fails.
func (t *tupleList) Read(i int, b *edges.Block) error {
	want := min(edges.BlockSize, t.Len()-i*edges.BlockSize)
	b.N = 0
	t.walk(t.blocks[i], func(part int, slot, lo, hi uint32) bool {
		t.append(b, t.g.Parts[part], t.lists(part), slot, lo, lo+min(hi-lo, uint32(want-b.N)))
		return b.N < want
	})
	return nil
}

// append appends arcs of a row to a block.
func (t *tupleList) append(b *edges.Block, p *Partition, l *kernel.Lists, slot, lo, hi uint32) {
	to, from := p.slots.ID(slot), b.N
	if t.g.Order == nil {
		for i, s := range l.Adj[lo:hi] {
			b.U[from+i], b.V[from+i] = p.slots.ID(s), to
		}
	} else {
		to = uint64(t.g.Order[to])
		for i, s := range l.Adj[lo:hi] {
			b.U[from+i], b.V[from+i] = uint64(t.g.Order[p.slots.ID(s)]), to
		}
	}
	b.N += int(hi - lo)
	switch {
	case l.Weights64 != nil:
		copy(b.W[from:b.N], l.Weights64[lo:hi])
	case l.Weights32 != nil:
		for i, w := range l.Weights32[lo:hi] {
			b.W[from+i] = float64(w)
		}
	}
}

// WithoutWeights removes the weights from a graph that is not yet in use.
func (g *Graph) WithoutWeights() {
	g.Weights, g.Options.Weights, g.LeastWeight = edges.Unweighted, edges.Unweighted, 0
	for p := range g.here() {
		lists, _ := p.stored()
		if p.reversedPart != nil {
			reversed, _ := p.reversedPart.stored()
			lists = append(lists, reversed...)
		}
		for _, l := range lists {
			l.Weights32, l.Weights64 = nil, nil
		}
	}
}
