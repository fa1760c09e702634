package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Restorer makes a graph from the stored partitions of this process. It checks the arrays, because
// they are untrusted.
//
//	NewRestorer -> Partition ... -> Graph
type Restorer struct {
	g    *Graph
	team *parallel.Team // does the work
}

// NewRestorer begins a graph. The caller has set the exported fields of g, except Parts. arena has
// its arrays, and then belongs to the graph.
func NewRestorer(g *Graph, arena *mem.Arena, team *parallel.Team) (*Restorer, error) {
	g.arena = arena
	if err := g.Options.Place(); err != nil {
		return nil, err
	}
	if g.N < 0 || g.N > MaxVertices {
		return nil, TooManyVertices(uint64(g.N))
	}
	if g.Weights != g.Options.Weights || g.Weights > edges.Float64 {
		return nil, fmt.Errorf("weights of kind %d and %d", g.Weights, g.Options.Weights)
	}
	if g.Order != nil && (len(g.Order) != g.N || len(g.IDs) != g.N) {
		return nil, fmt.Errorf("found maps of %d and %d vertices, expected %d", len(g.Order),
			len(g.IDs), g.N)
	}
	g.Parts = make([]*Partition, g.Options.Partitions)
	g.Deal, _ = kernel.ParseDeal(len(g.Parts), g.Options.Deal) // Place has checked it
	return &Restorer{g, team}, nil
}

// Partition restores a partition from its arrays.
func (r *Restorer) Partition(s Shape, from Arrays) error {
	if err := r.fits(s); err != nil {
		return err
	}
	p := r.g.restored(s)
	p.visit(from, &p.labels)
	if !r.g.Directed {
		p.InDegrees = p.OutDegrees
	}
	if len(p.labels.wide) == 0 {
		p.labels.wide = nil
	}
	if err := p.checkStored(s, r.team); err != nil {
		return fmt.Errorf("partition %d: %w", s.Index, err)
	}
	p.derive()
	r.g.Parts[s.Index] = p
	return nil
}

// fits returns an error if a shape does not fit the graph.
func (r *Restorer) fits(s Shape) error {
	g := r.g
	n := uint64(g.N)
	first, _ := g.Labels.First()
	if g.added == nil && s.Added > 0 {
		g.added = &added{s.Added, s.AddedLabel}
	}
	slots := func(n int) bool { return n >= 0 && n <= maxSlots && n%64 == 0 }
	if s.Index < 0 || s.Index >= len(g.Parts) || g.Parts[s.Index] != nil ||
		s.Grid != g.Options.Grid || s.Vertices != g.N || s.Directed != g.Directed ||
		s.Weights != g.Weights || g.Order == nil && !s.Wide && s.First != first ||
		s.Reversed != (s.Directed && !s.Grid.Flat()) || !s.Reversed && s.ReversedSlots != 0 ||
		!slots(s.Slots) || !slots(s.ReversedSlots) ||
		s.Added > 0 && (*g.added != added{s.Added, s.AddedLabel}) ||
		uint64(s.Added) > n || s.Added > 0 && s.AddedLabel+n < s.AddedLabel {
		return fmt.Errorf("found %+v, expected a partition of a graph of %d vertices in a grid of %v",
			s, g.N, g.Options.Grid)
	}
	return nil
}

// restored makes a partition without arrays.
func (g *Graph) restored(s Shape) *Partition {
	p := g.partition(s.Index)
	side := func(line []int) *Side { return &Side{Line: line} }
	lists := func() *Adjacency { return new(Adjacency) }
	if !s.Grid.Flat() {
		p.begin(s.Grid)
		block := func() Blocks {
			b := &Block{side(p.Column), side(p.Row), lists(), lists()}
			return Blocks{b, b}
		}
		p.along = block()
		if s.Reversed {
			r := p.newReversedPart()
			r.reversed = block()
			r.Slots, p.reversedPart = s.ReversedSlots, r
		}
		p.Slots = s.Slots
		return p
	}
	p.begin(Of(p.Of))
	p.Slots = s.Slots
	p.In = lists()
	if p.Out = p.In; g.Directed {
		p.Out = lists()
	}
	from := side(p.Column)
	to := from
	if g.Directed {
		to = side(p.Column)
	}
	p.flatBlocks(from, to)
	return p
}

// derive computes the fields that are not stored, after the arrays were checked.
func (p *Partition) derive() {
	arena := p.graph.arena
	p.slots.FindBases(mem.Make[uint64](arena, p.Slots/64))
	if p.Grid.Flat() {
		for _, a := range []*Adjacency{p.In, p.Out} {
			a.Rising = p.Of == 1
			if a.Chunks == nil {
				a.chunk(p.Words(), p.Words())
				a.seconds(arena)
			}
		}
		return
	}
	p.deriveBlock(p.along.Push)
	if r := p.reversedPart; r != nil {
		r.slots.FindBases(mem.Make[uint64](arena, r.Slots/64))
		r.deriveBlock(r.reversed.Push)
	}
}

// deriveBlock is derive for a block of a 2D grid.
func (p *Partition) deriveBlock(b *Block) {
	b.ByReceiver.chunk(p.Words(), len(b.ByReceiver.Bits))
	b.ByReceiver.seconds(p.graph.arena)
	b.BySender.Rising, b.BySender.Heads = true, nil
	b.BySender.chunk(p.Words(), len(b.BySender.Bits))
	b.Receivers.Ghosts = make([]bitmap.Ranked, p.Of)
	for _, q := range b.Receivers.Line {
		set := mem.Make[uint64](p.graph.arena, bitmap.Words(p.Deal.Owned(p.graph.N, q)))
		p.ghosts(b.Receivers, q, set)
		b.Receivers.Ghosts[q] = bitmap.Rank(set, mem.Make[uint32](p.graph.arena, len(set)+1))
	}
}

// Graph returns the graph, after checking that the partitions of this process are consistent with
// each other. Until it succeeds, the arena belongs to the caller.
func (r *Restorer) Graph() (*Graph, error) {
	g := r.g
	for p := range g.here() {
		for _, q := range slices.Concat(p.Column, p.Row) {
			if g.Parts[q] == nil {
				continue
			}
			if err := p.agrees(g.Parts[q]); err != nil {
				return nil, fmt.Errorf("partitions %d and %d: %w", p.Index, q, err)
			}
		}
	}
	if !slices.Contains(g.Parts, nil) {
		if err := g.checkSums(); err != nil {
			return nil, err
		}
	}
	runtime.AddCleanup(g, func(arena *mem.Arena) { arena.Close() }, g.arena)
	return g, nil
}
