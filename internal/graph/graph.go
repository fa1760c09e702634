// Package graph is the storage of partitions: vertices in degree order dealt cyclically to
// partitions, adjacency lists as BCSR over 32-bit slots, ghosts, and the lists that columns run
// over, the same at both ends. Package build, kernel 1 of Graph500, finds the vertices' ids; a
// Builder makes the partitions of this process from their arcs.
//
//	facts of vertices, arcs -> scatter into buckets -> sort each -> lists -> slots, blocks, columns
package graph

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Duplicates says how parallel edges are stored: tuples with the same source and target.
type Duplicates uint8

const (
	KeepDuplicates   Duplicates = iota // all are stored
	FirstDuplicate                     // the first of the input is stored
	LeastDuplicate                     // one is stored, with the least weight
	SumDuplicates                      // one is stored, with the sum of the weights
	RefuseDuplicates                   // the graph is refused
)

// DuplicateWords are what ParseDuplicates reads, the first being usual.
var DuplicateWords = []string{"keep", "first", "min", "sum", "error"}

func (d Duplicates) String() string { return DuplicateWords[d] }

// ParseDuplicates reads keep, first, min, sum or error.
func ParseDuplicates(s string) (Duplicates, error) {
	for i, name := range DuplicateWords {
		if s == name {
			return Duplicates(i), nil
		}
	}
	return 0, fmt.Errorf("found %q, expected keep, first, min, sum or error", s)
}

// Options say how a graph is stored.
type Options struct {
	// Partitions is the number of partitions, 1 if 0; Grid how they are laid out, in a column if it
	// is not set.
	Partitions int
	Grid       Grid
	// InputOrder numbers vertices as the input does, not by falling degree, to compare the two:
	// vertices without edges are among the others then.
	InputOrder bool
	// Duplicates and DropLoops say how parallel edges and edges from a vertex to itself are stored.
	Duplicates Duplicates
	DropLoops  bool
	// Weights is the type weights are stored in; Unweighted stores none.
	Weights edges.Weights
	// UnitWeights gives every edge the weight 1, whatever the list has.
	UnitWeights bool
	// TupleDegrees keeps, for TEPS, how many tuples, loops apart, touch each vertex.
	TupleDegrees bool
	// Team does the work; nil is one goroutine.
	Team *parallel.Team
	// Progress, if not nil, is called now and then with the stage and how much of it is done.
	Progress func(stage string, done, total int64)
	// Budget, if not nil, takes the place of that of the process.
	Budget *mem.Budget
}

// Ordered reports whether the order of the input matters: which duplicate is the first, and how
// sums are rounded.
func (o Options) Ordered() bool {
	return o.Duplicates == FirstDuplicate || o.Duplicates == SumDuplicates
}

// Graph is a loaded graph: its partitions, and the maps between vertex ids and the input.
type Graph struct {
	Name     string
	N        int    // vertices, those that were removed included
	Arcs     uint64 // stored adjacencies: an undirected edge counts twice, an undirected loop once
	Directed bool
	Weights  edges.Weights
	Options  Options

	// Tuples, Loops and Dropped count the input's tuples, those that are loops, and the duplicates
	// not stored.
	Tuples, Loops, Dropped int
	// LeastWeight is the least weight stored, or 0 if that is less.
	LeastWeight float64
	// greatest is the greatest weight stored, or 0 if that is greater, if weighed says so.
	greatest float64
	weighed  bool
	// Connected is the number of vertices with an edge: they have the ids below it. In the input's
	// order it is N.
	Connected int

	// Order maps vertex ids to input vertices, and IDs the other way. Of a graph whose partitions
	// are in several processes they are nil, and so is TupleDegrees: its partitions have their own.
	Order, IDs []uint32
	Labels     edges.Labels
	// Names are what the input calls its vertices, by input id, or nil.
	Names *names.Dictionary
	// TupleDegrees, by input vertex, if Options asked for it.
	TupleDegrees []uint32

	Parts []*Partition

	added *added // vertices that came after loading, where the maps do not have them
	arena *mem.Arena
	held  *held // of a graph of changed partitions
	close sync.Once
}

// Label returns the input id of a vertex. If no process has the whole graph, the vertex must belong
// to a partition of this process.
func (g *Graph) Label(id pregel.VertexID) uint64 {
	if a := g.added; a != nil && id >= a.first {
		return a.label + uint64(id-a.first)
	}
	if g.Order != nil {
		return g.Labels.Of(uint64(g.Order[id]))
	}
	n := pregel.VertexID(len(g.Parts))
	p := g.Parts[id%n]
	if p.labels != nil {
		return p.labels[id/n]
	}
	return g.Labels.Of(uint64(p.Inputs[id/n]))
}

// AppendName appends what the input calls a vertex, by its input id: its name, or the id where
// there are no names or, of a vertex that came after loading, none for it.
func (g *Graph) AppendName(dst []byte, label uint64) []byte {
	if g.Names != nil && label < uint64(g.Names.Len()) {
		return g.Names.Append(dst, label)
	}
	return strconv.AppendUint(dst, label, 10)
}

// NameOf returns what the input calls a vertex, by its input id, if it has a name for it that is in
// this process.
func (g *Graph) NameOf(label uint64) (string, bool) {
	if g.Names == nil || label >= uint64(g.Names.Len()) {
		return "", false
	}
	return g.Names.Name(label), true
}

// TupleDegree returns how many tuples, loops apart, touch a vertex of a partition here, if Options
// asked for it.
func (g *Graph) TupleDegree(p *Partition, local uint32) uint32 {
	if g.TupleDegrees != nil {
		return g.TupleDegrees[g.Order[p.Global(local)]]
	}
	return p.TupleDegrees[local]
}

// Find returns the vertex whose input id is given. It needs the maps of the whole graph: without
// them it finds none.
func (g *Graph) Find(label uint64) (pregel.VertexID, bool) {
	id, ok := g.find(label)
	if !ok || g.Absent(id) {
		return pregel.None, false
	}
	return id, true
}

// find returns the vertex, which may have been removed.
func (g *Graph) find(label uint64) (pregel.VertexID, bool) {
	i, ok := g.Labels.Find(label, g.N)
	if !ok || g.IDs == nil {
		return pregel.None, false
	}
	return pregel.VertexID(g.IDs[i]), true
}

// Absent reports whether a vertex was removed, of a partition that is here.
func (g *Graph) Absent(id pregel.VertexID) bool {
	p := g.Parts[uint64(id)%uint64(len(g.Parts))]
	return p != nil && p.Absent != nil &&
		bitmap.Get(p.Absent, uint32(uint64(id)/uint64(len(g.Parts))))
}

// Vertices returns how many vertices there are: N without those that were removed, as far as their
// partitions are here.
func (g *Graph) Vertices() int {
	n := g.N
	for _, p := range g.Parts {
		if p != nil {
			n -= bitmap.Count(p.Absent)
		}
	}
	return n
}

// Bytes returns the memory the graph's arrays take.
func (g *Graph) Bytes() int64 { return g.arena.Bytes() }

// Arena is the arena of the graph's arrays. It keeps spare arrays for jobs.
func (g *Graph) Arena() *mem.Arena { return g.arena }

// Close frees the graph, which must not be used afterwards: it has no vertices any more. It is
// idempotent.
func (g *Graph) Close() {
	g.close.Do(func() {
		g.N, g.Order, g.IDs, g.TupleDegrees, g.Parts = 0, nil, nil, nil, nil
		g.Labels = edges.Labels{}
		g.arena.Close()
		g.held.free()
	})
}

// Partition holds the vertices of one owner. Vertex id belongs to partition id mod P, as local
// vertex id / P, so that every partition is in degree order and hubs are spread.
type Partition struct {
	Index, Of int
	Owned     int // vertices
	// Grid is P x 1 for all flat grids. Column and Row are the other partitions of the processor
	// column and row, in the order in which this one sends to them.
	Grid        Grid
	Column, Row []int

	// In has the in-edges of the owned vertices, Out the out-edges, in a flat grid. In an
	// undirected graph they are the same.
	In, Out *Adjacency
	// Slots is the number of slots, a multiple of 64: of the owned, then of the ghosts.
	Slots int
	// OutDegrees and InDegrees are those of the owned vertices, padded to whole words.
	OutDegrees, InDegrees []uint32
	// Absent has the owned vertices that were removed: their ids are taken, but there are no such
	// vertices. It is nil if all exist.
	Absent []uint64
	// Inputs are the input vertices of the owned ones, and TupleDegrees theirs if Options asked for
	// them, where Graph has no maps. Inputs is nil, too, if input ids need more than 32 bits.
	Inputs, TupleDegrees []uint32
	// Measured is what the engine has measured on the partition, by kinds that it knows.
	Measured sync.Map

	graph *Graph
	slots kernel.Slots
	// input ids of the owned vertices, where there are neither Inputs nor the graph's maps
	labels []uint64
	// The blocks of the arcs, and of the reversed arcs. In a grid with both sides above 1 the
	// latter are reversedPart's, which of directed graphs alone, and its slots continue these.
	along, reversed Blocks
	reversedPart    *Partition
	transposing     sync.Mutex
	lightest        *kernel.Lists // once Lightest has made it
	degrees         [3]*Degrees   // of Out, In and Both, once they are made
	lists           *storage      // where the lists of a changed partition lie
}

// Global returns the id of an owned vertex.
func (p *Partition) Global(local uint32) pregel.VertexID {
	return pregel.VertexID(local)*pregel.VertexID(p.Of) + pregel.VertexID(p.Index)
}

// Words is the number of words in a bitmap over the owned vertices.
func (p *Partition) Words() int { return bitmap.Words(p.Owned) }

// owned returns how many of n vertices partition p of P owns.
func owned(n, p, P int) int { return (n - p + P - 1) / P }
