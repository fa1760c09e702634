package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// grid changes the block of a grid with both sides above 1, and that of the reversed arcs if there
// is one.
func (a *changer) grid(ctx context.Context) (*Changed, error) {
	p, next := a.p, a.next
	own := a.own()
	both := !p.graph.Directed || p.reversedPart != nil
	all, err := a.sendArcs(ctx, own, func(from, to uint32) [2]int {
		q := a.block(from, to)
		if both {
			return [2]int{q, a.block(to, from)}
		}
		return [2]int{q, q}
	})
	if err != nil {
		return nil, err
	}
	along := &blockChange{a: a, part: p, old: p.along.Pull, next: next, forward: true, backward: !p.graph.Directed}
	blocks := []*blockChange{along}
	if p.reversedPart != nil {
		blocks = append(blocks,
			&blockChange{a: a, part: p.reversedPart, old: p.reversedPart.reversed.Pull, backward: true})
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
		next.pieces.views = a.share(p.pieces.views)
		next.Slots, next.slots = p.Slots, p.slots
		for _, b := range blocks {
			b.keep()
		}
	} else {
		for _, b := range blocks {
			if err := b.link(ctx); err != nil {
				return nil, err
			}
		}
	}
	next.along = Blocks{along.new, along.new}
	if len(blocks) > 1 {
		next.reversedPart = blocks[1].next
		next.reversedPart.reversed = Blocks{blocks[1].new, blocks[1].new}
	}
	a.degrees()
	if err := a.shareSides(ctx, a.least(&along.old.ByReceiver.Lists, along.s), same,
		blocks); err != nil {
		return nil, err
	}
	c := &Changed{Partition: next, Arcs: int64(len(along.new.ByReceiver.Adj)), uses: a.uses}
	next.graph.Arcs = uint64(c.Arcs)
	return c, nil
}

// block returns the partition whose block has an arc.
func (a *changer) block(from, to uint32) int {
	g, parts := a.p.Grid, uint32(a.p.Of)
	return g.At(g.Row(int(to%parts)), g.Column(int(from%parts)))
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
	// slotIDs are the vertices of the old slots.
	slotIDs []uint32
}

// gather takes the edits of the block's rows.
func (b *blockChange) gather(all []*arcs) {
	b.e.idBits = uint(bits.Len(uint(b.a.N)))
	put := func(row, neighbor uint32, what uint64) {
		b.rows = append(b.rows, row)
		b.e.list = append(b.e.list, edit{uint64(neighbor), what})
	}
	undirected := !b.a.p.graph.Directed
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
					if undirected {
						put(v, u, what|mirroredEdit)
					} else {
						put(v, u, what)
					}
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
	b.s, err = a.splice(ctx, &splicer{
		l: &b.wide, of: b.slotIDs, e: sorted, rowID: func(row uint32) uint32 { return b.ids[row] },
	})
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
	old := &b.old.ByReceiver.Lists
	set := mem.Make[uint64](b.a.tmp, bitmap.Words(int(slots)))
	bitmap.Each(old.Bits, func(slot uint32) {
		row, _ := b.row(uint32(b.part.slots.ID(slot)))
		bitmap.Set(set, row)
	})
	b.wide = *old
	b.wide.Heads, b.wide.Seconds, b.wide.Same = nil, nil, nil
	b.wide.Bits = set
	b.wide.Rank = bitmap.Rank(set, nil).Rank
}

// keep makes the new block of the old one, of which nothing changed. Sides get their peers later.
func (b *blockChange) keep() {
	b.new = &Block{
		Senders: b.old.Senders.without(), Receivers: b.old.Receivers.without(),
		ByReceiver: b.old.ByReceiver, BySender: b.old.BySender,
	}
	if b.next == nil {
		b.next = b.reversedPart()
		b.next.Slots, b.next.slots = b.part.Slots, b.part.slots
	}
}

// without returns the side without peers.
func (s *Side) without() *Side {
	return &Side{Line: s.Line, Groups: s.Groups, Ghosts: s.Ghosts}
}

// reversedPart makes what holds the reversed arcs of the new partition, whose slots it continues.
func (b *blockChange) reversedPart() *Partition {
	p := b.a.next
	return &Partition{
		Index: p.Index, Of: p.Of, Owned: p.Owned, Grid: p.Grid, Column: p.Column, Row: p.Row,
		Slots: p.Slots, slots: p.slots, graph: p.graph,
	}
}

// link makes the new block's lists by ids, and turns these into slots as when the graph was built.
func (b *blockChange) link(ctx context.Context) error {
	if b.next == nil {
		b.next = b.reversedPart()
	}
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
		return err
	}
	b.new = &Block{Receivers: receivers}
	final := mem.Make[uint32](b.a.tmp, p.Slots)
	copy(final, lengths[:p.Owned])
	for _, q := range p.Row {
		row, at := b.base[q], b.new.Receivers.Groups[q].Start
		bitmap.Each(b.sets[q].Bits, func(uint32) {
			if lengths[row] > 0 {
				final[at] = lengths[row]
				at++
			}
			row++
		})
	}
	lists, _, err := b.a.relist(ctx, arena, final, &relister{
		old: &b.old.ByReceiver.Lists, s: b.s, slots: b.slotIDs, limit: math.MaxUint32,
		slot: func(id uint32) uint32 { return id },
	})
	if err != nil {
		return err
	}
	b.new.ByReceiver = lists
	if err := p.linkBlock(ctx, b.new, b.a.tmp); err != nil {
		return err
	}
	b.new.BySender = p.transpose(ctx, b.new.ByReceiver)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// degreeChange is by how much a block changes the degree of a vertex.
type degreeChange struct {
	local uint32
	more  int64
}

// degreeChanges returns by owner how a block changes degrees: of its rows' receivers, and of
// senders.
func (b *blockChange) degreeChanges() (in, out [][]degreeChange) {
	parts := uint32(b.a.p.Of)
	in, out = make([][]degreeChange, parts), make([][]degreeChange, parts)
	for _, r := range b.s.rows {
		id := b.ids[r.row]
		in[id%parts] = append(in[id%parts], degreeChange{id / parts, r.more})
	}
	senders := map[uint32]int64{}
	for _, x := range b.s.list {
		for _, slot := range b.old.ByReceiver.Adj[x.at : x.at+x.drop] {
			senders[uint32(b.part.slots.ID(slot))]--
		}
	}
	for _, id := range b.s.ids {
		senders[id]++
	}
	for id, more := range senders {
		if more != 0 {
			out[id%parts] = append(out[id%parts], degreeChange{id / parts, more})
		}
	}
	return in, out
}

// degrees copies the degrees, which the blocks change.
func (a *changer) degrees() {
	p, next := a.p, a.next
	next.OutDegrees = mem.Make[uint32](next.graph.arena, int(next.slots.Ghost))
	copy(next.OutDegrees, p.OutDegrees)
	next.InDegrees = next.OutDegrees
	if p.graph.Directed {
		next.InDegrees = mem.Make[uint32](next.graph.arena, int(next.slots.Ghost))
		copy(next.InDegrees, p.InDegrees)
	}
}

// changeDegrees applies changes that a block has found.
func (a *changer) changeDegrees(degrees []uint32, changes []degreeChange) error {
	for _, c := range changes {
		if int(c.local) >= a.next.Owned || c.more > math.MaxUint32 || c.more < -math.MaxUint32 {
			return fmt.Errorf("the degree of vertex %d: %w", c.local, errMessage)
		}
		d := int64(degrees[c.local]) + c.more
		if d < 0 || d > math.MaxUint32 {
			return fmt.Errorf("a degree of %d: %w", d, errMessage)
		}
		degrees[c.local] = uint32(d)
	}
	return nil
}

func appendDegrees(data []byte, changes []degreeChange) []byte {
	data = binary.LittleEndian.AppendUint32(data, uint32(len(changes)))
	for _, c := range changes {
		data = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(data, c.local),
			uint64(c.more))
	}
	return data
}
