package graph

import (
	"context"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// blocks changes the partition's blocks: the block of the arcs and, in a directed graph, that of
// the reversed arcs. In a flat grid these are the lists of in-edges and of out-edges.
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
			next.along.Pull.BySender, next.reversed.Pull.BySender = along.BySender,
				last.new.BySender
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

// keep makes the new blocks from the old ones, if nothing has changed. Their sides get peers later.
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
			b.next = next.newReversedPart()
			b.next.Slots, b.next.slots = b.part.Slots, b.part.slots
		}
	}
}

// without returns the side without peers.
func (s *Side) without() *Side { return &Side{Line: s.Line, Groups: s.Groups, Ghosts: s.Ghosts} }

// newReversedPart returns a partition for the reversed arcs in a 2D grid. Its slots continue those
// of the partition.
func (p *Partition) newReversedPart() *Partition {
	return &Partition{
		Index: p.Index, Of: p.Of, Deal: p.Deal, Owned: p.Owned, Most: p.Most, Grid: p.Grid,
		Column: p.Column, Row: p.Row, Slots: p.Slots, slots: p.slots, graph: p.graph, lists: p.lists,
	}
}

// link makes the new blocks.
func (a *changer) link(ctx context.Context, blocks []*blockChange) error {
	arena := a.next.graph.arena
	var flat []*Side // the sides with ghosts in a flat grid; they share slots
	for _, b := range blocks {
		if b.part != a.p {
			b.next = a.next.newReversedPart()
		}
		lengths, err := b.receivers()
		if err != nil {
			return err
		}
		if err := b.relist(ctx, lengths); err != nil {
			return err
		}
		if err := b.senders(ctx); err != nil {
			return err
		}
		b.next.index(b.new.ByReceiver)
		if a.p.Grid.Flat() {
			flat = append(flat, b.new.Senders)
			continue
		}
		b.next.setGhosts(arena, b.new.Receivers, b.new.Senders)
		if b.new.BySender = b.next.transpose(ctx, b.new.ByReceiver); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if a.p.Grid.Flat() {
		a.next.setGhosts(arena, flat...)
	}
	return nil
}

// blockChange changes a block of the arcs, or of the reversed arcs.
type blockChange struct {
	a    *changer
	part *Partition // the partition with the old block's slots
	old  *Block
	next *Partition
	new  *Block
	// forward and backward tell which rows of this block contain an arc: the row of its target, the
	// row of its source.
	forward, backward bool

	e edits
	s *splices
	// slotIDs has the vertices of the old slots, and after them those of added arcs; nil if each
	// slot is its vertex. At the end senders replaces them by the new slots.
	slotIDs []uint32
	places  []uint32 // old indices of the new arcs, if Change.Places is set
}

// number returns the number of a vertex's row in the order of the lists: first the partition's own
// rows, then those of other owners in their order.
func (b *blockChange) number(id uint32) uint32 {
	q, local := b.a.p.Deal.Of(id)
	if own := b.a.p.Index; q == own {
		return local
	} else if q < own {
		q++
	}
	return uint32(q)*b.stride() + local
}

// stride returns the number of row numbers for each owner.
func (b *blockChange) stride() uint32 { return uint32(b.a.next.Most) }

// vertex returns the vertex of a row number.
func (b *blockChange) vertex(row uint32) uint32 {
	q, own := int(row/b.stride()), b.a.p.Index
	if q == 0 {
		q = own
	} else if q <= own {
		q--
	}
	return uint32(b.a.p.Deal.ID(q, row%b.stride()))
}

// row returns the range of a vertex's old list, or the position where it would be.
func (b *blockChange) row(id uint32) (lo, hi uint32) {
	l := &b.old.ByReceiver.Lists
	slot, ok := b.part.slotOf(b.old.Receivers, id)
	if int(slot>>6) >= len(l.Bits) {
		return uint32(len(l.Adj)), uint32(len(l.Adj))
	}
	r := l.Rank[slot>>6] + uint32(bits.OnesCount64(l.Bits[slot>>6]&(1<<(slot&63)-1)))
	if lo = l.Starts[r]; !ok || !bitmap.Get(l.Bits, slot) {
		return lo, lo
	}
	return lo, l.Starts[r+1]
}

// slotOf returns the slot of a vertex on a side with known ghosts, and whether it has one. If not,
// it returns the slot where it would be.
func (p *Partition) slotOf(s *Side, id uint32) (slot uint32, ok bool) {
	q, local := p.Deal.Of(id)
	if q == p.Index {
		return min(local, p.slots.Ghost), int(local) < p.Owned
	}
	group, ghosts := s.Groups[q], &s.Ghosts[q]
	if int(local>>6) >= len(ghosts.Bits) {
		return group.Start + group.Count, false
	}
	return group.Start + ghosts.Of(local), ghosts.Get(local)
}

// gather collects the edits of the block's rows.
func (b *blockChange) gather(all []*arcs) {
	b.e.idBits = uint(bits.Len(uint(b.a.N)))
	put := func(row, neighbor uint32, what uint64) {
		key := uint64(b.number(row))<<b.e.idBits | uint64(neighbor)
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
			b.e.list = slices.Grow(b.e.list, 2*(hi-lo))
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

// receivers makes the receivers' side of the new block, and returns the lengths of its rows.
func (b *blockChange) receivers() (lengths []uint32, err error) {
	p, old := b.next, b.old.ByReceiver
	seen := make([][]uint64, p.Of)
	for _, q := range p.Row {
		seen[q] = mem.Make[uint64](p.graph.arena, bitmap.Words(p.Deal.Owned(b.a.N, q)))
		copy(seen[q], b.old.Receivers.Ghosts[q].Bits)
	}
	for _, r := range b.s.rows {
		q, local := p.Deal.Of(r.id)
		switch set := seen[q]; {
		case set == nil: // an owned vertex
		case r.count > 0:
			bitmap.Set(set, local)
		default:
			set[local>>6] &^= 1 << (local & 63)
		}
	}
	b.new = &Block{}
	if b.new.Receivers, err = p.side(p.Row, seen, p.graph.arena); err != nil {
		return nil, err
	}
	n := p.Slots
	if len(p.Row) == 0 { // p.Slots already includes ghosts of the other block
		n = p.Owned
	}
	lengths = mem.Make[uint32](b.a.tmp, n)
	bitmap.Each(old.Bits, func(slot uint32) {
		lo, hi := old.Row(slot)
		to, ok := slot, true
		if slot >= b.part.slots.Ghost {
			to, ok = p.slotOf(b.new.Receivers, uint32(b.part.slots.ID(slot)))
		}
		if ok {
			lengths[to] = hi - lo
		}
	})
	for _, r := range b.s.rows {
		if slot, ok := p.slotOf(b.new.Receivers, r.id); ok {
			lengths[slot] = r.count
		}
	}
	return lengths, nil
}

// senders makes the senders' side of the new block, and converts the neighbours in its lists to
// slots.
func (b *blockChange) senders(ctx context.Context) (err error) {
	a, p, adj := b.a, b.next, b.new.ByReceiver.Adj
	met := mem.Make[bool](a.tmp, len(b.slotIDs))
	if p.Of > 1 {
		for some := range slices.Chunk(adj, limits.linkGrain) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, i := range some {
				met[i] = true
			}
		}
	}
	seen := make([][]uint64, p.Of)
	for _, q := range p.Column {
		seen[q] = mem.Make[uint64](a.tmp, bitmap.Words(p.Deal.Owned(a.N, q)))
	}
	for i, id := range b.slotIDs {
		if q, local := p.Deal.Of(id); seen[q] != nil && met[i] {
			bitmap.Set(seen[q], local)
		}
	}
	if b.new.Senders, err = p.side(p.Column, seen, a.tmp); err != nil || p.Of == 1 {
		return err
	}
	for i, id := range b.slotIDs {
		if met[i] {
			b.slotIDs[i], _ = p.slotOf(b.new.Senders, id)
		}
	}
	a.Team.For((len(adj)+limits.linkGrain-1)/limits.linkGrain, 1, func(_, i, _ int) {
		if ctx.Err() != nil {
			return
		}
		some := adj[i*limits.linkGrain : min((i+1)*limits.linkGrain, len(adj))]
		for k, slot := range some {
			some[k] = b.slotIDs[slot]
		}
	})
	return context.Cause(ctx)
}
