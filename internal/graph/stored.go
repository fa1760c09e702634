package graph

import (
	"cmp"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// Shape has the facts about a partition that are needed to read its arrays.
type Shape struct {
	Index    int
	Grid     Grid // of the graph
	Vertices int  // of the graph, including removed vertices
	Directed bool
	Weights  edges.Weights
	// Slots is the number of slots. Reversed is set in a 2D grid of a directed graph: there are
	// blocks of reversed arcs, with ReversedSlots slots.
	Slots, ReversedSlots int
	Reversed             bool
	// Wide means that input ids are stored in 64 bits. Otherwise the differences to First are
	// stored in 32 bits.
	Wide  bool
	First uint64
	// Removed means that some vertices were removed.
	Removed bool
	// Added is the first vertex that was added after loading, and AddedLabel its input id. If there
	// is none, Added is 0.
	Added      pregel.VertexID
	AddedLabel uint64
}

// Arrays has methods that are called for each array of a partition, always in the same order. They
// store all arrays, or set all arrays to stored values.
type Arrays interface {
	Uint32s(name string, array *[]uint32)
	Uint64s(name string, array *[]uint64)
	Float32s(name string, array *[]float32)
	Float64s(name string, array *[]float64)
}

// Shape returns the partition's shape.
func (p *Partition) Shape() Shape {
	g := p.graph
	s := Shape{
		Index: p.Index, Grid: g.Options.Grid, Vertices: g.N, Directed: g.Directed,
		Weights: g.Weights, Slots: p.Slots, Removed: p.Absent != nil,
	}
	if p.reversedPart != nil {
		s.Reversed, s.ReversedSlots = true, p.reversedPart.Slots
	}
	var consecutive bool
	s.First, consecutive = g.Labels.First()
	if s.Wide = !consecutive || p.labels.wide != nil; s.Wide {
		s.First = 0
	}
	if g.added != nil {
		s.Added, s.AddedLabel = g.added.first, g.added.label
	}
	return s
}

// Arrays calls to for each array of the partition. The arrays may be in use, so they must not be
// changed.
func (p *Partition) Arrays(to Arrays) {
	stored := p.storedLabels()
	p.visit(to, &stored)
}

// labelArrays has the input ids of the owned vertices, in one of two forms: as input vertices, or if
// these need more than 32 bits or are not consecutive, as they are.
type labelArrays struct {
	narrow []uint32
	wide   []uint64
}

// storedLabels returns the input ids of the loaded vertices.
func (p *Partition) storedLabels() labelArrays {
	g := p.graph
	if g.Order == nil || p.labels.narrow != nil || p.labels.wide != nil {
		return p.labels
	}
	if _, consecutive := g.Labels.First(); consecutive {
		if p.Of == 1 {
			return labelArrays{narrow: g.Order}
		}
		narrow := make([]uint32, p.Owned)
		for i := range narrow {
			narrow[i] = g.Order[p.Global(uint32(i))]
		}
		return labelArrays{narrow: narrow}
	}
	wide := make([]uint64, p.Owned)
	for i := range wide {
		wide[i] = g.Labels.Of(uint64(g.Order[p.Global(uint32(i))]))
	}
	return labelArrays{wide: wide}
}

// visit calls v for all arrays. Data that can be derived are not stored: chunks, bases of slots,
// ghosts by owner.
func (p *Partition) visit(v Arrays, labels *labelArrays) {
	directed := p.graph.Directed
	v.Uint32s("degrees.out", &p.OutDegrees)
	if directed {
		v.Uint32s("degrees.in", &p.InDegrees)
	}
	v.Uint32s("labels.narrow", &labels.narrow)
	v.Uint64s("labels.wide", &labels.wide)
	v.Uint64s("removed", &p.Absent)
	v.Uint64s("ghosts", &p.slots.Ghosts)
	p.visitLists(v, "")
	if r := p.reversedPart; r != nil {
		v.Uint64s("reversed.ghosts", &r.slots.Ghosts)
		r.visitLists(v, "reversed.")
	}
}

func (p *Partition) visitLists(v Arrays, prefix string) {
	lists, sides := p.stored()
	for _, l := range lists {
		l.visit(v, prefix+l.name, p.graph.Weights)
	}
	for _, s := range sides {
		s.visit(v, prefix+s.name)
	}
}

// storedLists are lists of a partition. Their rows are below rows and have the lengths degrees, if
// these are known. rising tells whether they are in ascending order of slots, also before
// Adjacency.Rising is set.
type storedLists struct {
	*Adjacency
	name    string
	rows    int
	rising  bool
	degrees []uint32
}

type storedSide struct {
	*Side
	name string
}

// stored returns the lists and sides of the partition, in the order in which they are stored. In a
// 2D grid they are those of its block, of arcs or of reversed arcs.
func (p *Partition) stored() (lists []storedLists, sides []storedSide) {
	if !p.Grid.Flat() {
		b := cmp.Or(p.along.Push, p.reversed.Push)
		return []storedLists{
			{b.ByReceiver, "by-receiver", p.Slots, false, nil},
			{b.BySender, "by-sender", p.Slots, true, nil},
		}, []storedSide{{b.Senders, "senders"}, {b.Receivers, "receivers"}}
	}
	lists = []storedLists{{p.In, "in", p.Owned, p.Of == 1, p.InDegrees}}
	if p.Of > 1 {
		sides = []storedSide{{p.along.Pull.Senders, "senders"}}
	}
	if p.graph.Directed {
		lists = append(lists, storedLists{p.Out, "out", p.Owned, p.Of == 1, p.OutDegrees})
		if p.Of > 1 {
			sides = append(sides, storedSide{p.along.Push.Receivers, "receivers"})
		}
	}
	return lists, sides
}

// visit calls v for all arrays of lists.
func (a *Adjacency) visit(v Arrays, name string, weights edges.Weights) {
	v.Uint64s(name+".bits", &a.Bits)
	v.Uint32s(name+".rank", &a.Rank)
	v.Uint32s(name+".starts", &a.Starts)
	v.Uint32s(name+".neighbors", &a.Adj)
	v.Uint32s(name+".heads", &a.Heads)
	v.Uint32s(name+".same", &a.Same)
	switch weights {
	case edges.Float32:
		v.Float32s(name+".weights", &a.Weights32)
	case edges.Float64:
		v.Float64s(name+".weights", &a.Weights64)
	}
}

// visit calls v for all arrays of a side.
func (s *Side) visit(v Arrays, name string) {
	visitPairs(v, name+".groups", &s.Groups)
	s.Peers.visit(v, name+".peers")
}

// visit calls v for all arrays of the lists.
func (s *Peers) visit(v Arrays, name string) {
	visitPairs(v, name+".first", &s.first)
	v.Uint64s(name+".words", &s.words)
	v.Uint32s(name+".ranks", &s.ranks)
	v.Uint32s(name+".members", &s.members)
}

// visitPairs calls v for an array of pairs of 32-bit numbers.
func visitPairs[T any](v Arrays, name string, pairs *[]T) {
	numbers := wire.Slice[uint32](wire.Bytes(*pairs))
	v.Uint32s(name, &numbers)
	if *pairs == nil && len(numbers) > 0 { // the partition is being restored
		*pairs = wire.Slice[T](wire.Bytes(numbers))
	}
}
