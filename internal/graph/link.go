package graph

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// link makes the blocks of a flat grid: those of the P x 1 grid from the lists of in-edges, those
// of the 1 x P grid from the lists of out-edges.
func (a *Builder) link(ctx context.Context, exchange Exchange) error {
	g := a.g
	err := a.each(ctx, g.Parts, "linking the partitions", func(p *Partition) error {
		p.begin(Of(p.Of))
		in := &Block{Receivers: &Side{}, ByReceiver: p.In}
		out, blocks := in, []*Block{in}
		if g.Directed {
			out = &Block{Receivers: &Side{}, ByReceiver: p.Out}
			blocks = append(blocks, out)
		}
		err := p.linkBlocks(ctx, a.tmp, blocks...)
		p.flatBlocks(in.Senders, out.Senders)
		return err
	})
	if err != nil {
		return err
	}
	sides := []func(*Partition) *Side{
		func(p *Partition) *Side { return p.along.Pull.Senders },
		func(p *Partition) *Side { return p.along.Push.Receivers },
	}
	if !g.Directed {
		sides = sides[:1]
	}
	err = a.share(ctx, exchange, sides...)
	for p := range g.here() {
		for _, side := range sides {
			side(p).Ghosts = nil
		}
	}
	return err
}

// begin sets the partition's position in its grid, and the slots of the owned vertices.
func (p *Partition) begin(g Grid) {
	p.Grid = g
	p.Column, p.Row = p.Grid.column(p.Index), p.Grid.row(p.Index)
	p.slots = p.Deal.Slots(p.Index, p.Owned)
	p.Slots = int(p.slots.Ghost)
}

// flatBlocks makes the blocks of a flat grid from the partition's lists and from the sides that
// have ghosts.
func (p *Partition) flatBlocks(from, to *Side) {
	owned := &Side{Groups: make([]Group, p.Of)}
	if p.Of == 1 { // one block serves as both
		owned.Peers = newPeers(nil, make([][]uint64, 1))
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

// side makes a side and assigns slots to its ghosts. seen has the ghosts of each partition of the
// line.
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

// setGhosts sets the vertices of the slots of new ghosts. It is called after the sides have slots,
// and before share.
func (p *Partition) setGhosts(arena *mem.Arena, sides ...*Side) {
	ghosts := mem.Make[uint64](arena, p.Slots-int(p.slots.Ghost))
	for i := copy(ghosts, p.slots.Ghosts); i < len(ghosts); i++ {
		ghosts[i] = kernel.None
	}
	for _, s := range sides {
		for q, list := range s.Ghosts {
			at := s.Groups[q].Start - p.slots.Ghost
			bitmap.Each(list.Bits, func(local uint32) {
				ghosts[at] = p.Deal.ID(q, local)
				at++
			})
		}
	}
	p.slots.Ghosts = ghosts
	p.slots.FindBases(mem.Make[uint64](arena, p.Slots/64))
}

// findWeightRange computes the least and the greatest weight, and returns an error if a sum of
// weights overflows.
func (g *Graph) findWeightRange() error {
	least, greatest := 0.0, 0.0
	for p := range g.here() {
		lo, hi := weightRange(&p.along.Pull.ByReceiver.Lists)
		least, greatest = min(least, lo), max(greatest, hi)
	}
	g.LeastWeight, g.greatest, g.weightsKnown = least, greatest, true
	for _, w := range []float64{least, greatest} {
		if w-w != 0 {
			if g.Options.Duplicates != SumDuplicates {
				return fmt.Errorf("found the weight %v, expected a finite number", w)
			}
			return fmt.Errorf("the weights of parallel edges add up to %v, which is not finite", w)
		}
	}
	return nil
}

// weightRange returns the minimum and the maximum of some lists' weights and 0.
func weightRange(l *kernel.Lists) (least, greatest float64) {
	for _, w := range l.Weights32 {
		least, greatest = min(least, float64(w)), max(greatest, float64(w))
	}
	for _, w := range l.Weights64 {
		least, greatest = min(least, w), max(greatest, w)
	}
	return least, greatest
}
