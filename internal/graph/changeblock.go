package graph

import (
	"cmp"
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
		b.gather(all)
		if err := b.merge(ctx); err != nil {
			return nil, err
		}
		same = same && !slices.ContainsFunc(b.merged, func(m *rowMerger) bool { return len(m.rows) > 0 })
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

// link makes the new blocks.
func (a *changer) link(ctx context.Context, blocks []*blockChange) error {
	var all []*Block
	for _, b := range blocks {
		if b.part != a.p {
			b.next = a.next.continued()
		}
		if err := b.receivers(ctx); err != nil {
			return err
		}
		if all = append(all, b.new); a.p.Grid.Flat() {
			continue // the blocks are of one partition
		}
		if err := b.next.linkBlocks(ctx, a.tmp, b.new); err != nil {
			return err
		}
		if b.new.BySender = b.next.transpose(ctx, b.new.ByReceiver); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if !a.p.Grid.Flat() {
		return nil
	}
	return cmp.Or(a.next.linkBlocks(ctx, a.tmp, all...), context.Cause(ctx))
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

	e       edits
	merged  []*rowMerger
	slotIDs []uint32 // the vertices of the old slots, nil if each is its own
	places  []uint32 // where the new arcs were, if Change.Places asked for it
}

// gather takes the edits of the block's rows.
func (b *blockChange) gather(all []*arcs) {
	b.e.idBits = uint(bits.Len(uint(b.a.N)))
	put := func(row, neighbor uint32, what uint64) {
		b.e.list = append(b.e.list, edit{uint64(row)<<b.e.idBits | uint64(neighbor), what})
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
}

// row returns where the old list of a receiver is.
func (b *blockChange) row(id uint32) (lo, hi uint32) {
	slot, ok := b.part.slotOf(b.old.Receivers, id)
	if !ok {
		return 0, 0
	}
	return b.old.ByReceiver.Row(slot)
}

// slotOf returns the slot that a vertex has on a side that knows its ghosts, if it has one.
func (p *Partition) slotOf(s *Side, id uint32) (slot uint32, ok bool) {
	q, local := id%uint32(p.Of), id/uint32(p.Of)
	if int(q) == p.Index {
		return local, int(local) < p.Owned
	}
	if s.Ghosts == nil || int(local>>6) >= len(s.Ghosts[q].Bits) || !s.Ghosts[q].Get(local) {
		return 0, false
	}
	return s.Groups[q].Start + s.Ghosts[q].Of(local), true
}

// neighbor returns the neighbour at a place of the old lists.
func (b *blockChange) neighbor(at uint32) uint32 {
	if b.slotIDs == nil {
		return b.old.ByReceiver.Adj[at]
	}
	return b.slotIDs[b.old.ByReceiver.Adj[at]]
}

// copyIDs copies the neighbours from a place of the old lists on.
func (b *blockChange) copyIDs(to []uint32, at uint32) {
	from := b.old.ByReceiver.Adj[at:][:len(to)]
	if b.slotIDs == nil {
		copy(to, from)
		return
	}
	for i, slot := range from {
		to[i] = b.slotIDs[slot]
	}
}

// source is where the arcs of a row come from: the old lists or, if merger is not 0, those of the
// merger before that number.
type source struct{ first, count, merger uint32 }

// receivers makes the new block's side of receivers, and its lists by ids.
func (b *blockChange) receivers(ctx context.Context) (err error) {
	p := b.next
	seen := make([][]uint64, p.Of)
	for _, q := range p.Row {
		seen[q] = mem.Make[uint64](p.graph.arena, bitmap.Words(owned(b.a.N, q, p.Of)))
		copy(seen[q], b.old.Receivers.Ghosts[q].Bits)
	}
	for _, m := range b.merged {
		for _, r := range m.rows {
			set, local := seen[r.id%uint32(p.Of)], r.id/uint32(p.Of)
			switch {
			case set == nil: // an owned vertex
			case r.count > 0:
				bitmap.Set(set, local)
			default:
				set[local>>6] &^= 1 << (local & 63)
			}
		}
	}
	b.new = new(Block)
	if b.new.Receivers, err = p.side(p.Row, seen, p.graph.arena); err != nil {
		return err
	}
	sources := mem.Make[source](b.a.tmp, p.Slots)
	old := b.old.ByReceiver
	bitmap.Each(old.Bits, func(slot uint32) {
		lo, hi := old.Row(slot)
		if to, ok := p.slotOf(b.new.Receivers, uint32(b.part.slots.ID(slot))); ok {
			sources[to] = source{lo, hi - lo, 0}
		}
	})
	for i, m := range b.merged {
		for _, r := range m.rows {
			if to, ok := p.slotOf(b.new.Receivers, r.id); ok {
				sources[to] = source{r.first, r.count, uint32(i + 1)}
			}
		}
	}
	return b.relist(ctx, sources)
}

// relist makes the new lists, of which it knows where each row comes from, but for their heads and
// chunks.
func (b *blockChange) relist(ctx context.Context, sources []source) error {
	arena, counts, total := b.next.graph.arena, mem.Make[uint32](b.a.tmp, len(sources)), 0
	for slot, s := range sources {
		counts[slot] = s.count
		total += int(s.count)
	}
	if err := checkArcs(total); err != nil {
		return err
	}
	l := &Adjacency{Lists: bcsr(arena, counts, mem.Make[uint32](arena, total))}
	makeWeights(arena, &l.Lists, b.a.p.graph.Weights)
	if b.new.ByReceiver = l; b.a.places() {
		b.places = make([]uint32, total)
	}
	weights, old := weightsOf(&l.Lists), weightsOf(&b.old.ByReceiver.Lists)
	b.a.Team.For(len(l.Bits), 4, func(_, lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		at := l.Starts[l.Rank[lo]]
		for _, s := range sources[lo<<6 : min(hi<<6, len(sources))] {
			from, end, to := old, s.first+s.count, l.Adj[at:][:s.count]
			if s.merger > 0 {
				m := b.merged[s.merger-1]
				from = m.weights
				copy(to, m.ids[s.first:end])
				if b.places != nil {
					copy(b.places[at:], m.places[s.first:end])
				}
			} else {
				b.copyIDs(to, s.first)
				for i := s.first; i < end && b.places != nil; i++ {
					b.places[at+i-s.first] = i
				}
			}
			weights.Copy(int(at), from.Slice(int(s.first), int(end)))
			at += s.count
		}
	})
	return context.Cause(ctx)
}
