package graph

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// Sides of the blocks of a flat grid that have ghosts. Those of an undirected graph are the same.
const (
	sendersSide = iota
	receiversSide
)

// link turns neighbours' ids into slots, and exchanges between partitions the lists that columns
// run over. Each partition finds in its rows which of its vertices are ghosts of whom, which is
// known as soon as a row has one neighbour of every partition, and the others tell it of its own
// ghosts.
func (a *Builder) link(ctx context.Context, exchange Exchange) error {
	g := a.g
	sides := 1
	if g.Directed {
		sides = 2
	}
	// sets of vertices by side, partition, and whose ghosts they are
	peers := make([][][][]uint64, sides)
	for k := range peers {
		peers[k] = make([][][]uint64, len(g.Parts))
	}
	each := func(f func(p *Partition) error) error { return a.each(ctx, "linking the partitions", f) }
	err := each(func(p *Partition) error {
		p.begin(Of(p.Of))
		peers[sendersSide][p.Index] = p.neighbors(ctx, p.Out, a.tmp)
		if sides > 1 {
			peers[receiversSide][p.Index] = p.neighbors(ctx, p.In, a.tmp)
		}
		return nil
	})
	if err != nil {
		return err
	}
	ghosts, err := a.exchangeSets(ctx, exchange, sets{
		sides: sides,
		line:  func(_ int, p *Partition) []int { return p.Column },
		of:    func(side int, p *Partition, q int) []uint64 { return peers[side][p.Index][q] },
		size:  func(_ *Partition, q int) int { return owned(g.N, q, len(g.Parts)) },
	})
	if err != nil {
		return err
	}
	if err := each(func(p *Partition) error { return p.linkFlat(ctx, ghosts, a.tmp) }); err != nil {
		return err
	}
	for p := range g.here() {
		for k, side := range []*Side{p.along.Pull.Senders, p.along.Push.Receivers}[:sides] {
			side.Ghosts, side.Peers = nil, newPeers(g.arena, peers[k][p.Index])
		}
	}
	return nil
}

// begin places the partition in its grid, and gives slots to the owned vertices.
func (p *Partition) begin(g Grid) {
	p.Grid = g
	p.Column, p.Row = p.Grid.column(p.Index), p.Grid.row(p.Index)
	padded := (p.Owned + 63) &^ 63
	p.Slots = padded
	p.slots = kernel.Slots{First: uint64(p.Index), Stride: uint64(p.Of), Ghost: uint32(padded)}
}

// neighbors returns, for each other partition, the rows that have a neighbour of it. It stops
// half-way when ctx ends.
func (p *Partition) neighbors(ctx context.Context, a *Adjacency, arena *mem.Arena) [][]uint64 {
	sets := make([][]uint64, p.Of)
	for _, q := range p.Column {
		sets[q] = mem.Make[uint64](arena, bitmap.Words(p.Owned))
	}
	if p.Of == 1 {
		return sets
	}
	parts := newDivider(p.Of)
	found := make([]uint64, p.Of) // of a word of rows
	for w, rows := range a.Bits {
		if w&(1<<10-1) == 0 && ctx.Err() != nil {
			break
		}
		clear(found)
		for r := a.Rank[w]; rows != 0; r, rows = r+1, rows&(rows-1) {
			row, left := rows&-rows, p.Of
			for _, id := range a.Adj[a.Starts[r]:a.Starts[r+1]] {
				_, q := parts.divide(id)
				if found[q]&row != 0 {
					continue
				}
				found[q] |= row
				if left--; left == 0 {
					break
				}
			}
		}
		for _, q := range p.Column {
			sets[q][w] = found[q]
		}
	}
	return sets
}

// linkFlat makes a partition's blocks of a flat grid: of the P x 1 grid with the lists of in-edges,
// of the 1 x P grid with those of out-edges. ghosts returns its ghosts on a side, by owner.
func (p *Partition) linkFlat(ctx context.Context, ghosts func(side int,
	p *Partition) [][]uint64, tmp *mem.Arena,
) error {
	from, err := p.side(p.Column, ghosts(sendersSide, p), tmp)
	if err != nil {
		return err
	}
	to := from
	if err := p.relabel(ctx, p.In, from); err != nil {
		return err
	}
	if p.Out != p.In {
		if to, err = p.side(p.Column, ghosts(receiversSide, p), tmp); err != nil {
			return err
		}
		if err := p.relabel(ctx, p.Out, to); err != nil {
			return err
		}
	}
	p.name(p.graph.arena, from, to)
	for _, a := range []*Adjacency{p.In, p.Out} {
		if a.Heads == nil {
			a.Rising = p.Of == 1
			a.heads(p.graph.arena)
			a.chunk(p.Words(), p.Words())
		}
	}
	p.flatBlocks(from, to)
	return nil
}

// flatBlocks makes the blocks of a flat grid of the partition's lists, and the sides that have
// ghosts.
func (p *Partition) flatBlocks(from, to *Side) {
	owned := &Side{Groups: make([]Group, p.Of)}
	if p.Of == 1 { // one block is both
		b := &Block{Senders: owned, Receivers: owned, ByReceiver: p.In, BySender: p.Out}
		p.along, p.reversed = Blocks{b, b}, Blocks{b.reversed(), b.reversed()}
		return
	}
	p.along = Blocks{
		Push: &Block{Senders: owned, Receivers: to, BySender: p.Out},
		Pull: &Block{Senders: from, Receivers: owned, ByReceiver: p.In},
	}
	p.reversed = Blocks{Push: p.along.Pull.reversed(), Pull: p.along.Push.reversed()}
}

// side makes a side whose ghosts are those seen of each partition of a line, and gives them slots.
func (p *Partition) side(line []int, seen [][]uint64, arena *mem.Arena) (*Side, error) {
	s := &Side{Line: line, Groups: make([]Group, p.Of)}
	if len(line) == 0 {
		return s, nil
	}
	s.Ghosts = make([]bitmap.Ranked, p.Of)
	for q, set := range seen {
		if set == nil {
			continue
		}
		s.Ghosts[q] = bitmap.Rank(set, mem.Make[uint32](arena, len(set)+1))
		s.Groups[q] = Group{uint32(p.Slots), uint32(s.Ghosts[q].Count())}
		p.Slots += (s.Ghosts[q].Count() + 63) &^ 63
	}
	return s, checkSlots(p.Slots)
}

// name sets the vertices of the slots of new ghosts. It runs after the sides have their slots, and
// before share.
func (p *Partition) name(arena *mem.Arena, sides ...*Side) {
	ghosts := mem.Make[uint64](arena, p.Slots-int(p.slots.Ghost))
	for i := copy(ghosts, p.slots.Ghosts); i < len(ghosts); i++ {
		ghosts[i] = kernel.None
	}
	for _, s := range sides {
		for q, list := range s.Ghosts {
			at := s.Groups[q].Start - p.slots.Ghost
			bitmap.Each(list.Bits, func(local uint32) {
				ghosts[at] = uint64(local)*p.slots.Stride + uint64(q)
				at++
			})
		}
	}
	p.slots.Ghosts = ghosts
	p.slots.FindBases(mem.Make[uint64](arena, p.Slots/64))
}

// weigh finds the least and the greatest weight, and refuses sums of weights that overflow.
func (g *Graph) weigh() error {
	least, greatest := 0.0, 0.0
	for p := range g.here() {
		l := p.along.Pull.ByReceiver
		for _, w := range l.Weights32 {
			least, greatest = min(least, float64(w)), max(greatest, float64(w))
		}
		for _, w := range l.Weights64 {
			least, greatest = min(least, w), max(greatest, w)
		}
	}
	g.LeastWeight, g.greatest, g.weighed = least, greatest, true
	for _, w := range []float64{least, greatest} {
		if w-w != 0 {
			if g.Options.Duplicates != SumDuplicates {
				return fmt.Errorf("found the weight %v, expected a finite number", w)
			}
			return fmt.Errorf("the weights of parallel edges add up to %v, which is no weight", w)
		}
	}
	return nil
}
