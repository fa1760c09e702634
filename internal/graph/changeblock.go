package graph

import (
	"context"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
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

// link makes the new blocks.
func (a *changer) link(ctx context.Context, blocks []*blockChange) error {
	arena := a.next.graph.arena
	var flat []*Side // the sides with ghosts in a flat grid, whose blocks are of one partition
	for _, b := range blocks {
		if b.part != a.p {
			b.next = a.next.continued()
		}
		lengths, err := b.receivers()
		if err != nil {
			return err
		}
		if err := b.senders(ctx); err != nil {
			return err
		}
		if b.new.ByReceiver, b.places, err = a.relist(ctx, arena, lengths,
			&relister{old: &b.old.ByReceiver.Lists, s: b.s, slots: b.slotIDs}); err != nil {
			return err
		}
		b.next.index(b.new.ByReceiver)
		if a.p.Grid.Flat() {
			flat = append(flat, b.new.Senders)
			continue
		}
		b.next.name(arena, b.new.Receivers, b.new.Senders)
		if b.new.BySender = b.next.transpose(ctx, b.new.ByReceiver); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if a.p.Grid.Flat() {
		a.next.name(arena, flat...)
	}
	return nil
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

	e    edits
	rows []uint32        // of each edit, the receiver
	sets []bitmap.Ranked // by owner, the receivers that have a row or may get one
	base []uint32        // by owner, the slots of these
	ids  []uint32        // of these slots
	s    *splices
	wide kernel.Lists // the old lists, by these slots
	// slotIDs are the vertices of the old slots and, once the new sides are known, their new slots.
	// It is nil if these are all the same.
	slotIDs []uint32
	places  []uint32 // where the new arcs were, if Change.Places asked for it
}

// gather takes the edits of the block's rows.
func (b *blockChange) gather(all []*arcs) {
	b.e.idBits = uint(bits.Len(uint(b.a.N)))
	put := func(row, neighbor uint32, what uint64) {
		b.rows = append(b.rows, row)
		b.e.list = append(b.e.list, edit{uint64(neighbor), what})
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

// splice finds out what the edits do to the block's lists. Rows have slots of their own meanwhile,
// with room for new ones.
func (b *blockChange) splice(ctx context.Context) error {
	a, parts := b.a, uint32(b.a.p.Of)
	b.sets, b.base = make([]bitmap.Ranked, parts), make([]uint32, parts)
	sets := make([][]uint64, parts)
	for _, q := range a.p.Row {
		sets[q] = mem.Make[uint64](a.tmp, bitmap.Words(owned(a.N, q, a.p.Of)))
		copy(sets[q], b.old.Receivers.Ghosts[q].Bits)
	}
	for i, row := range b.rows {
		if q := row % parts; b.e.list[i].what&removalEdit == 0 && sets[q] != nil {
			bitmap.Set(sets[q], row/parts)
		}
	}
	slots := a.next.slots.Ghost
	for q, set := range sets {
		if set != nil {
			b.sets[q], b.base[q] = bitmap.Rank(set, nil), slots
			slots += uint32(b.sets[q].Count()+63) &^ 63
		}
	}
	b.ids = mem.Make[uint32](a.tmp, int(slots))
	for row := range a.next.Owned {
		b.ids[row] = uint32(a.next.Global(uint32(row)))
	}
	for q, set := range b.sets {
		at := b.base[q]
		bitmap.Each(set.Bits, func(local uint32) {
			b.ids[at] = local*parts + uint32(q)
			at++
		})
	}
	kept := b.e.list[:0]
	for i, x := range b.e.list {
		if row, ok := b.row(b.rows[i]); ok {
			kept = append(kept, edit{uint64(row)<<b.e.idBits | x.key, x.what})
		}
	}
	b.e.list = kept
	b.widen(slots)
	b.slotIDs = a.slotIDs(b.part)
	sorted, err := b.e.sort(int(slots))
	if err != nil {
		return err
	}
	b.s, err = a.splice(ctx, &splicer{a: a, l: &b.wide, of: b.slotIDs, e: sorted, rowIDs: b.ids})
	return err
}

// row returns the slot of a receiver's row, if there is one.
func (b *blockChange) row(id uint32) (uint32, bool) {
	q, local := id%uint32(b.a.p.Of), id/uint32(b.a.p.Of)
	if int(q) == b.a.p.Index {
		return local, true
	}
	if !b.sets[q].Get(local) {
		return 0, false
	}
	return b.base[q] + b.sets[q].Of(local), true
}

// widen gives the old lists' rows their slots: the order of rows is the same.
func (b *blockChange) widen(slots uint32) {
	b.wide = b.old.ByReceiver.Lists
	if len(b.a.p.Row) == 0 { // only owned vertices have rows
		return
	}
	set := mem.Make[uint64](b.a.tmp, bitmap.Words(int(slots)))
	bitmap.Each(b.wide.Bits, func(slot uint32) {
		row, _ := b.row(uint32(b.part.slots.ID(slot)))
		bitmap.Set(set, row)
	})
	b.wide.Bits, b.wide.Rank = set, bitmap.Rank(set, nil).Rank
}

// receivers makes the new block's side of receivers, and returns the lengths of its rows.
func (b *blockChange) receivers() ([]uint32, error) {
	p, arena := b.next, b.next.graph.arena
	lengths := mem.Make[uint32](b.a.tmp, len(b.ids))
	bitmap.Each(b.wide.Bits, func(row uint32) {
		lo, hi := b.wide.Row(row)
		lengths[row] = hi - lo
	})
	for _, r := range b.s.rows {
		lengths[r.row] = uint32(int64(lengths[r.row]) + r.more)
	}
	seen := make([][]uint64, p.Of)
	for _, q := range p.Row {
		seen[q] = mem.Make[uint64](arena, len(b.sets[q].Bits))
		row := b.base[q]
		bitmap.Each(b.sets[q].Bits, func(local uint32) {
			if lengths[row] > 0 {
				bitmap.Set(seen[q], local)
			}
			row++
		})
	}
	receivers, err := p.side(p.Row, seen, arena)
	if err != nil {
		return nil, err
	}
	b.new = &Block{Receivers: receivers}
	if len(p.Row) == 0 { // p.Slots has ghosts of the other block by now
		return lengths[:p.Owned], nil
	}
	final := mem.Make[uint32](b.a.tmp, p.Slots)
	copy(final, lengths[:p.Owned])
	for _, q := range p.Row {
		at := receivers.Groups[q].Start
		for _, n := range lengths[b.base[q]:][:b.sets[q].Count()] {
			if n > 0 {
				final[at] = n
				at++
			}
		}
	}
	return final, nil
}

// senders makes the new block's side of senders: of the arcs that stay, and of new ones. These get
// their slots.
func (b *blockChange) senders(ctx context.Context) (err error) {
	a, p := b.a, b.next
	parts, own := uint32(p.Of), uint32(p.Index)
	seen := make([][]uint64, p.Of)
	for _, q := range p.Column {
		seen[q] = mem.Make[uint64](a.tmp, bitmap.Words(owned(a.N, q, p.Of)))
	}
	for _, id := range b.s.ids {
		if set := seen[id%parts]; set != nil {
			bitmap.Set(set, id/parts)
		}
	}
	stay, err := b.stay(ctx)
	if err != nil {
		return err
	}
	for slot, id := range b.slotIDs {
		if set := seen[id%parts]; set != nil && stay[slot] {
			bitmap.Set(set, id/parts)
		}
	}
	if b.new.Senders, err = p.side(p.Column, seen, a.tmp); err != nil {
		return err
	}
	slot := func(id uint32) uint32 {
		q, local := id%parts, id/parts
		if q == own {
			return local
		}
		return b.new.Senders.Groups[q].Start + b.new.Senders.Ghosts[q].Of(local)
	}
	for i, id := range b.s.ids {
		b.s.ids[i] = slot(id)
	}
	for i, id := range b.slotIDs {
		if stay[i] {
			b.slotIDs[i] = slot(id)
		}
	}
	return nil
}

// stay returns which of the old slots are neighbours in arcs that stay.
func (b *blockChange) stay(ctx context.Context) ([]bool, error) {
	if b.slotIDs == nil {
		return nil, nil
	}
	stay, at := mem.Make[bool](b.a.tmp, len(b.slotIDs)), uint32(0)
	adj := b.old.ByReceiver.Adj
	mark := func(lo, hi uint32) {
		for some := range slices.Chunk(adj[lo:hi], limits.linkGrain) {
			if ctx.Err() != nil {
				return
			}
			for _, slot := range some {
				stay[slot] = true
			}
		}
	}
	for _, x := range b.s.list {
		mark(at, x.at)
		at = x.at + x.drop
	}
	mark(at, uint32(len(adj)))
	return stay, context.Cause(ctx)
}
