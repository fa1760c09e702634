package graph

import (
	"context"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// flat changes the lists of out-edges and in-edges of a flat grid.
func (a *changer) flat(ctx context.Context) (*Changed, error) {
	p, next := a.p, a.next
	own := a.own()
	all, err := a.sendArcs(ctx, own, func(_, to uint32) [2]int {
		q := int(to % uint32(p.Of))
		return [2]int{q, q}
	})
	if err != nil {
		return nil, err
	}
	outEdits, inEdits, err := a.flatEdits(own, all)
	if err != nil {
		return nil, err
	}
	from := a.side(p.along.Pull.Senders)
	sides, to := []*sideChange{from}, from
	if p.graph.Directed {
		to = a.side(p.along.Push.Receivers)
		if p.Of > 1 {
			sides = append(sides, to)
		}
	}
	// Whom a partition has as ghosts in its lists of in-edges follows from the lists of out-edges
	// of those, and the other way.
	var agreedFrom, agreedTo func(int, uint32) bool
	if p.Of > 1 {
		agreedFrom, agreedTo = from.agreed, to.agreed
	}
	ids, id := a.slotIDs(p), func(row uint32) uint32 { return uint32(next.Global(row)) }
	out, err := a.splice(ctx,
		&splicer{l: &p.Out.Lists, of: ids, e: outEdits, rowID: id, ghost: agreedFrom})
	if err != nil {
		return nil, err
	}
	from.take(out.toggles)
	in := out
	if p.graph.Directed {
		if in, err = a.splice(ctx,
			&splicer{l: &p.In.Lists, of: ids, e: inEdits, rowID: id, ghost: agreedTo}); err != nil {
			return nil, err
		}
		to.take(in.toggles)
	}
	if err := a.sendSides(ctx, a.least(&p.In.Lists, in), sides...); err != nil {
		return nil, err
	}
	moved, shared, err := a.reside(sides...)
	if err != nil {
		return nil, err
	}
	if p.Of == 1 {
		to.new, to.ghosts = from.new, from.ghosts
	}
	c := &Changed{Partition: next, Arcs: int64(len(p.In.Adj)) + in.shift}
	if next.In, next.InDegrees, c.InFrom, err = a.lists(ctx, p.In, p.InDegrees, in, from, moved,
		&next.pieces.in, p.pieces.in); err != nil {
		return nil, err
	}
	if p.graph.Directed {
		next.Out, next.OutDegrees, c.OutFrom, err = a.lists(ctx, p.Out, p.OutDegrees, out, to,
			moved, &next.pieces.out, p.pieces.out)
		if err != nil {
			return nil, err
		}
	} else {
		next.Out, next.OutDegrees, c.OutFrom, c.InFrom = next.In, next.InDegrees, c.InFrom, nil
	}
	next.graph.Arcs = uint64(c.Arcs)
	a.blocks(from.new, to.new, shared || moved == nil)
	c.uses = a.uses
	return c, nil
}

// flatEdits returns the edits of the lists of out-edges and of in-edges, which are the same in an
// undirected graph.
func (a *changer) flatEdits(own *arcs, all []*arcs) (out, in *edits, err error) {
	outward, inward := a.editor(), a.editor()
	directed := a.p.graph.Directed
	if !directed {
		inward = outward
	}
	count := len(own.ends) / 2
	outward.e.list = make([]edit, 0, count)
	for _, some := range all {
		count += len(some.ends) / 2
	}
	inward.e.list = make([]edit, 0, count)
	for _, removals := range []bool{true, false} {
		outward.put(own, removals, false, true)
		for _, some := range all {
			inward.put(some, removals, true, directed)
		}
	}
	if out, err = outward.e.sort(a.next.Owned); err != nil {
		return nil, nil, err
	}
	if in = out; directed {
		in, err = inward.e.sort(a.next.Owned)
	}
	return out, in, err
}

// lists returns the new lists of one direction, with the degrees and where arcs were: the old ones,
// if nothing changes.
func (a *changer) lists(
	ctx context.Context, old *Adjacency, degrees []uint32, s *splices, side *sideChange,
	moved []uint32, piece **storage, shared *storage,
) (*Adjacency, []uint32, []uint32, error) {
	padded := int(a.next.slots.Ghost)
	if len(s.list) == 0 && moved == nil && padded == len(degrees) {
		*piece = a.share(shared)
		return old, degrees, nil, nil
	}
	*piece = a.arena()
	arena := &(*piece).Arena
	changed := mem.Make[uint32](arena, padded)
	copy(changed, degrees)
	for _, r := range s.rows {
		changed[r.row] = uint32(int64(changed[r.row]) + r.more)
	}
	r := &relister{old: &old.Lists, s: s, slots: moved, limit: uint32(a.next.Slots), slot: a.slot(side)}
	l, places, err := a.relist(ctx, arena, changed[:a.next.Owned], r)
	if err != nil {
		return nil, nil, nil, err
	}
	l.Rising = a.p.Of == 1
	l.heads(arena)
	l.chunk(a.next.Words(), a.next.Words())
	return l, changed, places, nil
}

// blocks makes the blocks of a flat grid. Views by sender are kept where neither the lists nor the
// slots changed.
func (a *changer) blocks(from, to *Side, still bool) {
	p, next := a.p, a.next
	if next.flatBlocks(from, to); !still || p.Of == 1 {
		return
	}
	p.transposing.Lock()
	defer p.transposing.Unlock()
	for _, b := range []struct {
		old, new *Block
	}{{p.along.Pull, next.along.Pull}, {p.reversed.Pull, next.reversed.Pull}} {
		if b.old.ByReceiver == b.new.ByReceiver && b.old.BySender != nil {
			b.new.BySender = b.old.BySender
			a.share(p.pieces.views)
		}
	}
}

// least returns the least weight of the partition's lists, or 0 if that is less.
func (a *changer) least(l *kernel.Lists, s *splices) float64 {
	least := 0.0
	for _, w := range s.weights {
		least = min(least, w)
	}
	if a.p.graph.LeastWeight >= 0 || !a.weighted() {
		return least
	}
	at, k := uint32(0), 0
	for at < uint32(len(l.Adj)) {
		if k < len(s.list) && s.list[k].at == at {
			at += s.list[k].drop
			k++
			continue
		}
		least = min(least, arcWeight(l, at))
		at++
	}
	return least
}
