package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// linkGrain is how many neighbours are linked between two looks at whether to go on.
const linkGrain = 1 << 20

// link turns neighbours' ids into slots, and agrees between partitions on the lists that columns run over.
func (b *builder) link(ctx context.Context) error {
	g := b.g
	b.team.For(len(g.Parts), 1, func(_, lo, _ int) {
		p := g.Parts[lo]
		p.begin(Of(p.Of))
		p.linkFlat(ctx)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("linking the partitions: %w", context.Cause(ctx))
	}
	for _, p := range g.Parts {
		p.share(g.Parts, func(q *Partition) *Side { return q.along.Pull.Senders })
		if g.Directed {
			p.share(g.Parts, func(q *Partition) *Side { return q.along.Push.Receivers })
		}
	}
	g.leastWeight()
	return nil
}

// begin places the partition in its grid, and gives slots to the owned vertices.
func (p *Partition) begin(g Grid) {
	p.Grid = g
	p.Column, p.Row = p.Grid.column(p.Index), p.Grid.row(p.Index)
	padded := (p.Owned + 63) &^ 63
	p.Slots = padded
	p.slots = pregel.Slots{First: pregel.VertexID(p.Index), Stride: pregel.VertexID(p.Of), Ghost: uint32(padded)}
}

// linkFlat makes a partition's blocks of a flat grid: of the P x 1 grid with the lists of in-edges, of the 1 x P grid
// with those of out-edges.
func (p *Partition) linkFlat(ctx context.Context) {
	owned := p.side(nil, nil)
	from := p.side(p.Column, p.seen(ctx, p.In, p.Column))
	to := from
	p.relabel(ctx, p.In, from)
	if p.Out != p.In {
		to = p.side(p.Column, p.seen(ctx, p.Out, p.Column))
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
		p.along, p.against = Blocks{b, b}, Blocks{b.turned(), b.turned()}
		return
	}
	p.along = Blocks{
		Push: &Block{Senders: owned, Receivers: to, BySender: p.Out},
		Pull: &Block{Senders: from, Receivers: owned, ByReceiver: p.In},
	}
	p.against = Blocks{Push: p.along.Pull.turned(), Pull: p.along.Push.turned()}
}

// seen returns, for each partition of a line, which of its vertices are in the lists. It stops half-way when ctx ends.
func (p *Partition) seen(ctx context.Context, a *Adjacency, line []int) [][]uint64 {
	if len(line) == 0 {
		return nil
	}
	g, parts := p.graph, uint32(p.Of)
	seen := make([][]uint64, parts)
	for _, q := range line {
		seen[q] = mem.Make[uint64](g.arena, bitmap.Words(g.Parts[q].Owned))
	}
	for some := range slices.Chunk(a.Adj, linkGrain) {
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
func (p *Partition) side(line []int, seen [][]uint64) *Side {
	s := &Side{Line: line, Groups: make([]Group, p.Of)}
	if len(line) == 0 {
		return s
	}
	s.Peers = make([]bitmap.Ranked, p.Of) // for now those of p's own ghosts; share deals them out
	for q, set := range seen {
		if set == nil {
			continue
		}
		s.Peers[q] = bitmap.Rank(set, mem.Make[uint32](p.graph.arena, len(set)+1))
		s.Groups[q] = Group{uint32(p.Slots), uint32(s.Peers[q].Count())}
		p.Slots += (s.Peers[q].Count() + 63) &^ 63
	}
	return s
}

// name says which vertices the slots of new ghosts stand for. It runs after the sides have their slots, and before share.
func (p *Partition) name(sides ...*Side) {
	ghosts := mem.Make[pregel.VertexID](p.graph.arena, p.Slots-int(p.slots.Ghost))
	for i := copy(ghosts, p.slots.Ghosts); i < len(ghosts); i++ {
		ghosts[i] = pregel.None
	}
	for _, s := range sides {
		for q, list := range s.Peers {
			at := s.Groups[q].Start - p.slots.Ghost
			bitmap.Each(list.Bits, func(local uint32) {
				ghosts[at] = pregel.VertexID(local)*p.slots.Stride + pregel.VertexID(q)
				at++
			})
		}
	}
	p.slots.Ghosts = ghosts
}

// relabel rewrites lists of ids to slots. It runs after the side's ghosts have their slots, and before share.
func (p *Partition) relabel(ctx context.Context, a *Adjacency, s *Side) {
	parts := uint32(p.Of)
	if parts == 1 {
		return
	}
	for some := range slices.Chunk(a.Adj, linkGrain) {
		if ctx.Err() != nil {
			return
		}
		for i, id := range some {
			q, local := id%parts, id/parts
			if int(q) == p.Index {
				some[i] = local
			} else {
				some[i] = s.Groups[q].Start + s.Peers[q].Of(local)
			}
		}
	}
}

// share runs for every partition after all have the side: what p knows of q's vertices becomes q's list for p.
func (p *Partition) share(parts []*Partition, side func(*Partition) *Side) {
	s := side(p)
	for _, q := range s.Line {
		if q > p.Index {
			other := side(parts[q])
			s.Peers[q], other.Peers[p.Index] = other.Peers[p.Index], s.Peers[q]
		}
	}
}

// leastWeight finds the least weight.
func (g *Graph) leastWeight() {
	least := 0.0
	for _, p := range g.Parts {
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
