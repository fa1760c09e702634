// Package graph stores the partitions of a graph. Vertices are in degree order and dealt to partitions. Adjacency lists are in BCSR over 32-bit slots. Ghosts represent vertices of other
// partitions, and both partitions have the same lists of them, for columns. Package build (kernel 1
// of Graph500) determines the vertices' ids. A Builder makes the partitions of this process from
// their arcs:
//
//	facts of vertices, arcs -> scatter into buckets -> sort each -> lists -> slots, blocks, columns
//
// Read graph.go first, then block.go and builder.go.
package graph

import (
	"fmt"
	"sort"
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

// Duplicates selects how parallel edges are stored: tuples with the same source and target.
type Duplicates uint8

const (
	KeepDuplicates   Duplicates = iota // all are stored
	FirstDuplicate                     // the first in the input is stored
	LeastDuplicate                     // one is stored, with the least weight
	SumDuplicates                      // one is stored, with the sum of the weights
	RefuseDuplicates                   // the graph is rejected
)

// DuplicateWords has the names for ParseDuplicates; the first is the default.
var DuplicateWords = []string{"keep", "first", "min", "sum", "error"}

func (d Duplicates) String() string { return DuplicateWords[d] }

// ParseDuplicates parses keep, first, min, sum or error.
func ParseDuplicates(s string) (Duplicates, error) {
	for i, name := range DuplicateWords {
		if s == name {
			return Duplicates(i), nil
		}
	}
	return 0, fmt.Errorf("found %q, expected keep, first, min, sum or error", s)
}

// Options tell how a graph is stored.
type Options struct {
	// Partitions is the number of partitions; 0 means 1. Grid is their arrangement. The default is
	// one column.
	Partitions int
	Grid       Grid
	// Deal is the text of how vertices are dealt to partitions (kernel.ParseDeal). If it is empty,
	// the degrees decide.
	Deal string
	// InputOrder numbers vertices in the order of the input, instead of by falling degree, for
	// comparisons. Then vertices without edges are among the others.
	InputOrder bool
	// Duplicates and DropLoops select how parallel edges and loops are stored.
	Duplicates Duplicates
	DropLoops  bool
	// Weights is the type of stored weights. Unweighted means that none are stored.
	Weights edges.Weights
	// UnitWeights sets the weight of every edge to 1, also if the list has weights.
	UnitWeights bool
	// TupleDegrees stores, for TEPS, the number of tuples, without loops, that touch each vertex.
	TupleDegrees bool
	// Team does the work; nil means one goroutine.
	Team *parallel.Team
	// Progress, if not nil, is called from time to time with the stage and its progress.
	Progress func(stage string, done, total int64)
	// Budget, if not nil, replaces the budget of the process.
	Budget *mem.Budget
}

// Ordered reports whether the order of the input matters: for the first duplicate, or for the
// rounding of sums.
func (o Options) Ordered() bool {
	return o.Duplicates == FirstDuplicate || o.Duplicates == SumDuplicates
}

// Graph is a loaded graph: its partitions, and maps between vertex ids and the input.
type Graph struct {
	Name     string
	N        int    // number of vertex ids, including removed vertices
	Arcs     uint64 // stored arcs; an undirected edge counts twice, an undirected loop once
	Directed bool
	Weights  edges.Weights
	Options  Options

	// Tuples, Loops and Dropped are the numbers of the input's tuples, of loops among them, and of
	// duplicates that were not stored.
	Tuples, Loops, Dropped int
	// LeastWeight is the least stored weight, or 0 if that is less.
	LeastWeight float64
	// greatest is the greatest stored weight, or 0 if that is greater; valid if weightsKnown is
	// set.
	greatest     float64
	weightsKnown bool
	// Connected is the number of vertices with an edge; their ids are below it. With InputOrder it
	// is N.
	Connected int

	// Order maps vertex ids to input vertices, and IDs the reverse. If several processes have
	// partitions of the graph, these maps are nil: the partitions have their own.
	Order, IDs []uint32
	Labels     edges.Labels
	// Names has the names of the vertices by input id, or is nil.
	Names *names.Dictionary

	Parts []*Partition
	Deal  kernel.Deal // of the vertices to Parts

	whole *whole // the graph of which this one is a part; or nil
	least uint64 // the least input id for new vertices: the whole graph has those below
	added *added // vertices added after loading, if the maps do not have them; or nil
	arena *mem.Arena
	held  *held // of a graph of changed partitions; or nil
	close sync.Once
}

// Label returns the input id of a vertex. If several processes have partitions of the graph, the
// vertex must belong to a partition of this process.
func (g *Graph) Label(id pregel.VertexID) uint64 {
	if a := g.added; a != nil && id >= a.first {
		return a.label + uint64(id-a.first)
	}
	if g.Order != nil {
		return g.Labels.Of(uint64(g.Order[id]))
	}
	q, local := g.Deal.Of(uint32(id))
	p := g.Parts[q]
	if p.labels.wide != nil {
		return p.labels.wide[local]
	}
	return g.Labels.Of(uint64(p.labels.narrow[local]))
}

// AppendName appends the name of the vertex with an input id. It appends the id if there is no
// name.
func (g *Graph) AppendName(dst []byte, label uint64) []byte {
	if g.Names != nil && label < uint64(g.Names.Len()) {
		return g.Names.Append(dst, label)
	}
	return strconv.AppendUint(dst, label, 10)
}

// NameOf returns the name of the vertex with an input id, if this process has it.
func (g *Graph) NameOf(label uint64) (string, bool) {
	if g.Names == nil || label >= uint64(g.Names.Len()) {
		return "", false
	}
	return g.Names.Name(label), true
}

// Find returns the vertex with an input id. It needs the maps of the whole graph: without them it
// finds none.
func (g *Graph) Find(label uint64) (pregel.VertexID, bool) {
	id, ok := g.find(label)
	if !ok || g.Absent(id) {
		return pregel.None, false
	}
	return id, true
}

// find is Find that also finds removed vertices.
func (g *Graph) find(label uint64) (pregel.VertexID, bool) {
	i, ok := g.Labels.Find(label, g.N)
	if !ok || g.IDs == nil {
		return pregel.None, false
	}
	return pregel.VertexID(g.IDs[i]), true
}

// Absent reports whether a vertex of a partition in this process was removed.
func (g *Graph) Absent(id pregel.VertexID) bool {
	q, local := g.Deal.Of(uint32(id))
	p := g.Parts[q]
	return p != nil && p.Absent != nil && bitmap.Get(p.Absent, local)
}

// Vertices returns the number of vertices: N without removed vertices of partitions in this
// process.
func (g *Graph) Vertices() int {
	n := g.N
	for _, p := range g.Parts {
		if p != nil {
			n -= bitmap.Count(p.Absent)
		}
	}
	return n
}

// Bytes returns the bytes of the graph's arrays.
func (g *Graph) Bytes() int64 { return g.arena.Bytes() }

// Arena returns the arena of the graph's arrays. It also keeps spare arrays for jobs.
func (g *Graph) Arena() *mem.Arena { return g.arena }

// Close frees the graph, which then has no vertices and must not be used. It is idempotent,
// and accepts nil.
func (g *Graph) Close() {
	if g == nil {
		return
	}
	g.close.Do(func() {
		g.N, g.Order, g.IDs, g.Parts = 0, nil, nil, nil
		g.Labels = edges.Labels{}
		g.arena.Close()
		g.held.free()
	})
}

// Partition has the vertices of one owner, in degree order.
type Partition struct {
	Index, Of int
	Deal      kernel.Deal
	// Owned is the number of owned vertices. No partition has more than Most.
	Owned, Most int
	// Grid is P x 1 for all flat grids. Column and Row are the other partitions of the processor
	// column and row, in the order in which this one sends to them.
	Grid        Grid
	Column, Row []int

	// In has the in-edges of the owned vertices, Out the out-edges, in a flat grid. In an
	// undirected graph they are the same.
	In, Out *Adjacency
	// Slots is the number of slots, a multiple of 64: first those of owned vertices, then those of
	// ghosts.
	Slots int
	// OutDegrees and InDegrees are the degrees of the owned vertices, padded to whole words.
	OutDegrees, InDegrees []uint32
	// Absent has the owned vertices that were removed: their ids are not reused. It is nil if all
	// exist.
	Absent []uint64
	// TupleDegrees has the tuple degrees of the owned vertices, if requested in Options.
	TupleDegrees []uint32
	// Measured has the engine's measurements on the partition, by kind.
	Measured sync.Map

	graph  *Graph
	slots  kernel.Slots
	labels labelArrays // of the loaded vertices; a build sets them only if the Graph has no maps
	// The blocks of the arcs, and of the reversed arcs. In a 2D grid reversed is set in
	// reversedPart instead, which only directed graphs have. The slots of reversedPart continue
	// these.
	along, reversed Blocks
	reversedPart    *Partition
	transposing     sync.Mutex
	lightest        *kernel.Lists // nil before Lightest has made it
	degrees         [3]*Degrees   // for Out, In and Both; nil before they are made
	lists           *storage      // the memory of a changed partition's lists
}

// Global returns the id of an owned vertex.
func (p *Partition) Global(local uint32) pregel.VertexID {
	return pregel.VertexID(p.Deal.ID(p.Index, local))
}

// partition returns a partition without arrays.
func (g *Graph) partition(i int) *Partition {
	return &Partition{
		Index: i, Of: len(g.Parts), Deal: g.Deal, Owned: g.Deal.Owned(g.N, i),
		Most: g.Deal.Most(g.N), graph: g,
	}
}

// GhostsBelow returns how many ghosts of a group have less than a local index at their owner, in a
// flat grid.
func (p *Partition) GhostsBelow(g Group, local int) int {
	return sort.Search(int(g.Count), func(i int) bool {
		_, at := p.Deal.Of(uint32(p.slots.ID(g.Start + uint32(i))))
		return int(at) >= local
	})
}

// Words returns the number of words in a bitmap over the owned vertices.
func (p *Partition) Words() int { return bitmap.Words(p.Owned) }
