package graph

import (
	"math/bits"
	"sort"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// tupleList has the stored edges of a graph as tuples between input vertices. It reads them from
// the partitions' lists by receiver, without copying them all. An undirected edge is read as the
// arc from its smaller id. Lists are in ascending order of ids, so these arcs are at the beginnings
// of lists.
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

// find finds the beginnings of blocks.
func (t *tupleList) find() {
	for part, p := range t.g.Parts {
		if p == nil {
			continue
		}
		l := t.lists(part)
		for w, word := range l.Bits {
			for ; word != 0; word &= word - 1 {
				slot := uint32(w<<6 + bits.TrailingZeros64(word))
				lo, hi := t.row(p, l, slot)
				before := t.n
				t.n += int(hi - lo)
				for next := len(t.blocks) * edges.BlockSize; next < t.n; next += edges.BlockSize {
					t.blocks = append(t.blocks,
						tuplePlace{uint32(part), slot, lo + uint32(next-before)})
				}
			}
		}
	}
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
	at := t.blocks[i]
	b.N = 0
	for part, row := int(at.part), at.row; b.N < want; part, row = part+1, 0 {
		p := t.g.Parts[part]
		if p == nil {
			continue
		}
		l := t.lists(part)
		for w := int(row >> 6); w < len(l.Bits) && b.N < want; w++ {
			word := l.Bits[w]
			if w == int(row>>6) {
				word &= ^uint64(0) << (row & 63)
			}
			for ; word != 0 && b.N < want; word &= word - 1 {
				slot := uint32(w<<6 + bits.TrailingZeros64(word))
				lo, hi := t.row(p, l, slot)
				if part == int(at.part) && slot == at.row {
					lo = at.arc
				}
				t.append(b, p, l, slot, lo, lo+min(hi-lo, uint32(want-b.N)))
			}
		}
	}
	return nil
}

// append appends arcs of a row to a block.
func (t *tupleList) append(b *edges.Block, p *Partition, l *kernel.Lists, slot, lo, hi uint32) {
	to := uint64(t.g.Order[p.slots.ID(slot)])
	from := b.N
	for i, s := range l.Adj[lo:hi] {
		b.U[from+i], b.V[from+i] = uint64(t.g.Order[p.slots.ID(s)]), to
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
		for _, d := range []pregel.Direction{pregel.Out, pregel.In} {
			for _, b := range p.Layout(d).Blocks {
				for _, block := range []*Block{b.Push, b.Pull} {
					for _, a := range []*Adjacency{block.ByReceiver, block.BySender} {
						if a != nil {
							a.Weights32, a.Weights64 = nil, nil
						}
					}
				}
			}
		}
	}
}
