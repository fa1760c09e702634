package graph

import (
	"context"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// blocks changes the partition's blocks: that of the arcs and, of a directed graph, that of the
// reversed arcs. Those of a flat grid are its lists of in-edges and of out-edges.
func (a *changer) blocks(ctx context.Context) (*Changed, error) {
	p, next := a.p, a.next
	all, err := a.sendArcs(ctx, a.own())
	if err != nil {
		return nil, err
	}
	blocks := []*blockChange{{
		a: a, part: p, old: p.along.Pull, next: next, forward: true, backward: !p.graph.Directed,
	}}
	if p.graph.Directed {
		reversed := &blockChange{a: a, part: p, old: p.reversed.Pull, next: next, backward: true}
		if !p.Grid.Flat() {
			reversed.part, reversed.old = p.reversedPart, p.reversedPart.reversed.Pull
		}
		blocks = append(blocks, reversed)
	}
	same := next.slots.Ghost == p.slots.Ghost
	for _, b := range blocks {
		if err := b.gather(all); err != nil {
			return nil, err
		}
		if err := b.splice(ctx); err != nil {
			return nil, err
		}
		same = same && len(b.s.list) == 0
	}
	if same {
		a.keep(blocks)
	} else if err := a.link(ctx, blocks); err != nil {
		return nil, err
	}
	along, last := blocks[0].new, blocks[len(blocks)-1]
	c := &Changed{Partition: next, Arcs: int64(len(along.ByReceiver.Adj)), uses: a.uses}
	switch {
	case p.Grid.Flat():
		next.In, next.Out = along.ByReceiver, last.new.ByReceiver
		c.OutFrom = last.places
		if p.graph.Directed {
			c.InFrom = blocks[0].places
		}
		if next.flatBlocks(along.Senders, last.new.Senders); p.Of > 1 {
			next.along.Pull.BySender, next.reversed.Pull.BySender = along.BySender, last.new.BySender
		}
	case p.graph.Directed:
		next.reversedPart = last.next
		next.reversedPart.reversed = Blocks{last.new, last.new}
		fallthrough
	default:
		next.along = Blocks{along, along}
	}
	a.degrees()
	if err := a.shareSides(ctx, same, blocks); err != nil {
		return nil, err
	}
	next.graph.Arcs = uint64(c.Arcs)
	return c, nil
}

// keep makes the new blocks of the old ones, of which nothing changed. Sides get their peers later.
func (a *changer) keep(blocks []*blockChange) {
	p, next := a.p, a.next
	if p.lists != nil {
		next.lists = a.share(p.lists)
	}
	next.Slots, next.slots = p.Slots, p.slots
	p.transposing.Lock()
	defer p.transposing.Unlock()
	for _, b := range blocks {
		b.new = &Block{
			Senders: b.old.Senders.without(), Receivers: b.old.Receivers.without(),
			ByReceiver: b.old.ByReceiver, BySender: b.old.BySender,
		}
		if b.part != p {
			b.next = next.continued()
			b.next.Slots, b.next.slots = b.part.Slots, b.part.slots
		}
	}
}

// without returns the side without peers.
func (s *Side) without() *Side {
	return &Side{Line: s.Line, Groups: s.Groups, Ghosts: s.Ghosts}
}

// continued makes what holds the reversed arcs of a partition in a grid that is not flat. Its slots
// continue those of the partition.
func (p *Partition) continued() *Partition {
	return &Partition{
		Index: p.Index, Of: p.Of, Owned: p.Owned, Grid: p.Grid, Column: p.Column, Row: p.Row,
		Slots: p.Slots, slots: p.slots, graph: p.graph, lists: p.lists,
	}
}

// link makes the new blocks, as the Builder does of lists of ids.
func (a *changer) link(ctx context.Context, blocks []*blockChange) error {
	var flat []*Block
	for _, b := range blocks {
		if b.part != a.p {
			b.next = a.next.continued()
		}
		lengths, err := b.receivers()
		if err != nil {
			return err
		}
		if err := b.relist(ctx, lengths); err != nil {
			return err
		}
		if a.p.Grid.Flat() {
			flat = append(flat, b.new)
			continue
		}
		if err := b.next.linkBlocks(ctx, a.tmp, b.new); err != nil {
			return err
		}
		if b.new.BySender = b.next.transpose(ctx, b.new.ByReceiver); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(flat) == 0 {
		return nil
	}
	return a.next.linkBlocks(ctx, a.tmp, flat...)
}

// blockChange changes a block, of the arcs or of the reversed arcs.
type blockChange struct {
	a    *changer
	part *Partition // that the old block's slots are of
	old  *Block
	next *Partition
	new  *Block
	// forward and backward say which rows an arc has here: its target's, its source's.
	forward, backward bool

	e edits
	// Rows are numbered in the order of the lists: those of owned vertices, then those of the other
	// partitions of the processor row; base[q] is the first of partition q.
	base    []uint32
	line    []int    // the other partitions, rising
	slotIDs []uint32 // the vertices of the old slots, nil if each is its own
	s       *splices
	places  []uint32 // where the new arcs were, if Change.Places asked for it
}

// gather takes the edits of the block's rows, and sorts them.
func (b *blockChange) gather(all []*arcs) error {
	b.e.idBits = uint(bits.Len(uint(b.a.N)))
	parts, rows := uint32(b.a.p.Of), owned(b.a.N, b.a.p.Index, b.a.p.Of)
	b.base = make([]uint32, parts)
	b.line = slices.Sorted(slices.Values(b.a.p.Row))
	for _, q := range b.line {
		b.base[q] = uint32(rows)
		rows += owned(b.a.N, q, b.a.p.Of)
	}
	put := func(row, neighbor uint32, what uint64) {
		key := uint64(b.base[row%parts]+row/parts)<<b.e.idBits | uint64(neighbor)
		b.e.list = append(b.e.list, edit{key, what})
	}
	mirrored := uint64(0)
	if !b.a.p.graph.Directed {
		mirrored = mirroredEdit
	}
	for _, removals := range []bool{true, false} {
		for _, from := range all {
			lo, hi, kind := 0, from.removals, uint64(removalEdit)
			if !removals {
				lo, hi, kind = from.removals, len(from.ends)/2, 0
			}
			for i := lo; i < hi; i++ {
				u, v, what := from.ends[2*i], from.ends[2*i+1], kind
				if !removals && from.weights != nil {
					what |= uint64(len(b.e.weights)) << 2
					b.e.weights = append(b.e.weights, from.weights[i-lo])
				}
				if b.forward && b.a.block(u, v) == b.a.p.Index {
					put(v, u, what|mirrored)
				}
				if b.backward && b.a.block(v, u) == b.a.p.Index && (u != v || !b.forward) {
					put(u, v, what)
				}
			}
		}
	}
	return b.e.sort(rows)
}

// id returns the vertex of a row.
func (b *blockChange) id(row uint32) uint32 {
	of := b.a.p.Index
	for _, q := range b.line {
		if row >= b.base[q] {
			of = q
		}
	}
	return (row-b.base[of])*uint32(b.a.p.Of) + uint32(of)
}

// slot returns the slot of a receiver among those of a side, or where it would be.
func (b *blockChange) slot(s *Side, id uint32) (slot uint32, there bool) {
	q, local := id%uint32(b.a.p.Of), id/uint32(b.a.p.Of)
	if int(q) == b.a.p.Index {
		return local, true
	}
	set, group := s.Ghosts[q], s.Groups[q]
	if int(local>>6) >= len(set.Bits) {
		return group.Start + group.Count, false
	}
	return group.Start + set.Of(local), set.Get(local)
}

// place returns where a receiver's old list is or would be.
func (b *blockChange) place(id uint32) (lo, hi uint32) {
	slot, there := b.slot(b.old.Receivers, id)
	if ghosts := b.part.slots.Ghost; slot >= ghosts && int(id)%b.a.p.Of == b.a.p.Index {
		slot, there = ghosts, false
	}
	if lo, hi = rowPlace(&b.old.ByReceiver.Lists, slot); !there {
		hi = lo
	}
	return lo, hi
}

// receivers makes the new block's side of receivers, and returns the lengths of its rows.
func (b *blockChange) receivers() (lengths []uint32, err error) {
	p, arena := b.next, b.next.graph.arena
	seen := make([][]uint64, p.Of)
	for _, q := range p.Row {
		seen[q] = mem.Make[uint64](arena, bitmap.Words(owned(b.a.N, q, p.Of)))
		copy(seen[q], b.old.Receivers.Ghosts[q].Bits)
	}
	for _, r := range b.s.rows {
		id := b.id(r.row)
		set, local := seen[int(id)%p.Of], id/uint32(p.Of)
		if set == nil {
			continue
		}
		bitmap.Set(set, local)
		if lo, hi := b.place(id); int64(hi-lo)+r.more == 0 {
			set[local>>6] &^= 1 << (local & 63)
		}
	}
	b.new = new(Block)
	if b.new.Receivers, err = p.side(p.Row, seen, arena); err != nil {
		return nil, err
	}
	slots := p.Owned
	if len(p.Row) > 0 { // else p.Slots may have ghosts of the other block by now
		slots = p.Slots
	}
	lengths = mem.Make[uint32](b.a.tmp, slots)
	grow := func(id uint32, more int64) {
		if slot, there := b.slot(b.new.Receivers, id); there {
			lengths[slot] = uint32(int64(lengths[slot]) + more)
		}
	}
	bitmap.Each(b.old.ByReceiver.Bits, func(slot uint32) {
		lo, hi := b.old.ByReceiver.Row(slot)
		grow(uint32(b.part.slots.ID(slot)), int64(hi-lo))
	})
	for _, r := range b.s.rows {
		grow(b.id(r.row), r.more)
	}
	return lengths, nil
}
