package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/pregel"
)

// Difference returns the arcs that changes have removed and added since the partition was from,
// among the arcs that the partition stores for pushes. The results of all partitions, grouped by
// the owners of the sources, are one Change of the graph. An edge of an undirected graph is
// returned as the arc from the smaller id. If any of the parallel arcs between two vertices
// differs, all of them are removed and added.
func (p *Partition) Difference(from *Partition) (remove, add []Arc) {
	is, was := p.pushed(), from.pushed()
	if len(is.Adj) == len(was.Adj) && (len(is.Adj) == 0 || &is.Adj[0] == &was.Adj[0]) {
		return nil, nil // none of its lists has changed
	}
	d := differing{directed: p.graph.Directed}
	rows := from.rowsOf()
	bitmap.Each(is.Bits, func(slot uint32) {
		id := p.slots.ID(slot)
		row, ok := rows(id)
		if !ok {
			row = math.MaxUint32 // this row has no list
		}
		d.row(id, arcsOf(p, is, slot, &d.is), arcsOf(from, was, row, &d.was))
	})
	// rows that no longer exist
	rows = p.rowsOf()
	bitmap.Each(was.Bits, func(slot uint32) {
		id := from.slots.ID(slot)
		row, ok := rows(id)
		if lo, hi := is.Row(row); !ok || lo == hi {
			d.row(id, nil, arcsOf(from, was, slot, &d.was))
		}
	})
	return d.remove, d.add
}

// pushed returns the lists by source of the arcs that the partition stores.
func (p *Partition) pushed() *Adjacency { return p.along.Push.BySender }

// rowsOf returns a function that finds the slot of a vertex.
func (p *Partition) rowsOf() func(id uint64) (slot uint32, ok bool) {
	var ghosts map[uint64]uint32
	if !p.Grid.Flat() { // otherwise all sources are owned
		ghosts = make(map[uint64]uint32, len(p.slots.Ghosts))
		for i, id := range p.slots.Ghosts {
			ghosts[id] = p.slots.Ghost + uint32(i)
		}
	}
	return func(id uint64) (uint32, bool) {
		if q, local := p.Deal.Of(uint32(id)); q == p.Index {
			return local, int(local) < p.Owned
		}
		slot, ok := ghosts[id]
		return slot, ok
	}
}

// end is the target of an arc and its weight.
type end struct {
	to     uint64
	weight float64
}

// arcsOf returns the list of a slot, in ascending order of ids. It uses buffer.
func arcsOf(p *Partition, l *Adjacency, slot uint32, buffer *[]end) []end {
	lo, hi := l.Row(slot)
	list, weights := (*buffer)[:0], weightsOf(&l.Lists)
	for i := lo; i < hi; i++ {
		list = append(list, end{to: p.slots.ID(l.Adj[i]), weight: weights.At(int(i))})
	}
	before := func(a, b end) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.weight, b.weight))
	}
	if !slices.IsSortedFunc(list, before) {
		slices.SortFunc(list, before)
	}
	*buffer = list
	return list
}

// differing collects the arcs that differ.
type differing struct {
	directed    bool
	is, was     []end // buffers
	remove, add []Arc
}

// row compares the lists of a vertex.
func (d *differing) row(id uint64, is, was []end) {
	if slices.Equal(is, was) {
		return
	}
	for len(is)+len(was) > 0 {
		to := pregel.None
		if len(is) > 0 {
			to = pregel.VertexID(is[0].to)
		}
		if len(was) > 0 {
			to = min(to, pregel.VertexID(was[0].to))
		}
		n, m := run(is, to), run(was, to)
		if !slices.Equal(is[:n], was[:m]) && (d.directed || id <= uint64(to)) {
			if m > 0 {
				d.remove = append(d.remove, Arc{From: pregel.VertexID(id), To: to})
			}
			for _, e := range is[:n] {
				d.add = append(d.add, Arc{From: pregel.VertexID(id), To: to, Weight: e.weight})
			}
		}
		is, was = is[n:], was[m:]
	}
}

// run returns the number of arcs with a target at the beginning of a list.
func run(list []end, to pregel.VertexID) (n int) {
	for n < len(list) && list[n].to == uint64(to) {
		n++
	}
	return n
}
