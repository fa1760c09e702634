package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// link turns neighbours' ids into slots, and exchanges between partitions the lists that columns run over.
func (a *Builder) link(ctx context.Context, exchange Exchange) error {
	g := a.g
	a.team.For(len(g.Parts), 1, func(_, lo, _ int) {
		if p := g.Parts[lo]; p != nil {
			p.begin(Of(p.Of))
			p.linkFlat(ctx, a.tmp)
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("linking the partitions: %w", context.Cause(ctx))
	}
	sides := []func(*Partition) *Side{func(q *Partition) *Side { return q.along.Pull.Senders }}
	if g.Directed {
		sides = append(sides, func(q *Partition) *Side { return q.along.Push.Receivers })
	}
	if err := a.share(ctx, exchange, g.Parts, sides...); err != nil {
		return err
	}
	for p := range g.here() {
		for _, side := range sides {
			side(p).Ghosts = nil
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

// linkFlat makes a partition's blocks of a flat grid: of the P x 1 grid with the lists of in-edges, of the 1 x P grid
// with those of out-edges. Its ghosts by owner, which share tells these, are in tmp.
func (p *Partition) linkFlat(ctx context.Context, tmp *mem.Arena) {
	owned := p.side(nil, nil, tmp)
	from := p.side(p.Column, p.seen(ctx, p.In, p.Column, tmp), tmp)
	to := from
	p.relabel(ctx, p.In, from)
	if p.Out != p.In {
		to = p.side(p.Column, p.seen(ctx, p.Out, p.Column, tmp), tmp)
		p.relabel(ctx, p.Out, to)
	}
	if ctx.Err() != nil {
		return
	}
	p.name(from, to)
	for _, a := range []*Adjacency{p.In, p.Out} {
		if a.Heads == nil {
			a.Rising = p.Of == 1
			a.heads(p.graph.arena)
			a.chunk(p.Words(), p.Words())
		}
	}
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

// seen returns, for each partition of a line, which of its vertices are in the lists. It stops half-way when ctx ends.
func (p *Partition) seen(ctx context.Context, a *Adjacency, line []int, arena *mem.Arena) [][]uint64 {
	if len(line) == 0 {
		return nil
	}
	parts := uint32(p.Of)
	seen := make([][]uint64, parts)
	for _, q := range line {
		seen[q] = mem.Make[uint64](arena, bitmap.Words(owned(p.graph.N, q, p.Of)))
	}
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			break
		}
		for _, id := range some {
			if q := id % parts; int(q) != p.Index {
				bitmap.Set(seen[q], id/parts)
			}
		}
	}
	return seen
}

// side makes a side whose ghosts are those seen of each partition of a line, and gives them slots.
func (p *Partition) side(line []int, seen [][]uint64, arena *mem.Arena) *Side {
	s := &Side{Line: line, Groups: make([]Group, p.Of)}
	if len(line) == 0 {
		return s
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
	return s
}

// name sets the vertices of the slots of new ghosts. It runs after the sides have their slots, and before share.
func (p *Partition) name(sides ...*Side) {
	ghosts := mem.Make[uint64](p.graph.arena, p.Slots-int(p.slots.Ghost))
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
	p.slots.FindBases(mem.Make[uint64](p.graph.arena, p.Slots/64))
}

// relabel rewrites lists of ids to slots. It runs after the side's ghosts have their slots, and before share.
func (p *Partition) relabel(ctx context.Context, a *Adjacency, s *Side) {
	parts := uint32(p.Of)
	if parts == 1 {
		return
	}
	for some := range slices.Chunk(a.Adj, limits.linkGrain) {
		if ctx.Err() != nil {
			return
		}
		for i, id := range some {
			q, local := id%parts, id/parts
			if int(q) == p.Index {
				some[i] = local
			} else {
				some[i] = s.Groups[q].Start + s.Ghosts[q].Of(local)
			}
		}
	}
}

// leastWeight finds the least weight.
func (g *Graph) leastWeight() {
	least := 0.0
	for p := range g.here() {
		l := p.along.Pull.ByReceiver
		for _, w := range l.Weights32 {
			least = min(least, float64(w))
		}
		for _, w := range l.Weights64 {
			least = min(least, w)
		}
	}
	g.LeastWeight = least
}
