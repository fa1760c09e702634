package graph

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Builder makes the partitions of a graph that are in this process. Package build determines the
// vertices' ids, and passes their facts and arcs in any order. The lists of both directions are
// made at the same time, or one after the other, which takes less memory.
//
//	NewBuilder -> Own -> Vertex ... -> { Scatter -> Arcs or Tuples ... -> Finish } -> Link
type Builder struct {
	g    *Graph
	o    Options
	team *parallel.Team
	tmp  *mem.Arena
	// Arenas of the lists of in-edges and of out-edges that Scatter makes. If the lists are kept,
	// it is the graph's arena.
	lists, outLists *mem.Arena
	open            []*Scatter
	built           bool
}

// Facts are the facts about a vertex: its input id, the lengths of its stored lists and, for TEPS,
// the number of tuples, without loops, that touch it.
type Facts struct {
	Label           uint64
	Out, In, Tuples uint32
}

// NewBuilder begins a graph without partitions. The caller sets the graph's other fields.
func NewBuilder(g *Graph, o Options) (*Builder, error) {
	if err := o.Place(); err != nil {
		return nil, err
	}
	g.Weights, g.Options = o.Weights, o
	g.Options.Team, g.Options.Progress, g.Options.Budget = nil, nil, nil
	g.arena = &mem.Arena{Budget: o.Budget, Kind: mem.Graph}
	g.Parts = make([]*Partition, o.Partitions)
	g.Deal, _ = kernel.ParseDeal(o.Partitions, o.Deal)
	loading := func() *mem.Arena { return &mem.Arena{Budget: o.Budget, Kind: mem.Loading} }
	a := &Builder{g: g, o: o, team: o.Team, tmp: loading(), lists: g.arena, outLists: g.arena}
	if !o.Grid.Flat() {
		a.lists, a.outLists = loading(), loading()
	}
	return a, nil
}

// Place sets the number of partitions and their grid, and returns an error if they are invalid.
func (o *Options) Place() error {
	if int(o.Duplicates) >= len(DuplicateWords) {
		return fmt.Errorf("there is no option %d for duplicates", o.Duplicates)
	}
	if o.Grid == (Grid{}) {
		o.Grid = Of(max(o.Partitions, 1))
	}
	if o.Grid.Rows < 1 || o.Grid.Columns < 1 {
		return fmt.Errorf("a grid of %v: each side must be 1 or more", o.Grid)
	}
	if o.Grid.Rows > MaxPartitions || o.Grid.Columns > MaxPartitions ||
		o.Grid.Partitions() > MaxPartitions {
		return fmt.Errorf("a grid of %v: at most %d partitions", o.Grid, MaxPartitions)
	}
	if o.Partitions != 0 && o.Partitions != o.Grid.Partitions() {
		return fmt.Errorf("%d partitions in a grid of %v, which has %d", o.Partitions, o.Grid,
			o.Grid.Partitions())
	}
	o.Partitions = o.Grid.Partitions()
	_, err := kernel.ParseDeal(o.Partitions, o.Deal)
	return err
}

// Arena returns the graph's arena. It is freed with the graph, or by End if the graph is not built.
func (a *Builder) Arena() *mem.Arena { return a.g.arena }

// Own makes the partitions of this process, with arrays for the facts of their vertices. The
// graph's number of vertices must be set before and, if it has them, its maps. wide means that
// input ids may need more than 32 bits.
func (a *Builder) Own(own []int, wide bool) {
	g := a.g
	for _, i := range own {
		p := g.partition(i)
		g.Parts[i] = p
		padded := (p.Owned + 63) &^ 63
		p.OutDegrees = mem.Make[uint32](g.arena, padded)
		p.InDegrees = p.OutDegrees
		if g.Directed {
			p.InDegrees = mem.Make[uint32](g.arena, padded)
		}
		if a.o.TupleDegrees {
			p.TupleDegrees = mem.Make[uint32](g.arena, p.Owned)
		}
		if g.Order != nil {
			continue
		}
		if wide {
			p.labels.wide = mem.Make[uint64](g.arena, p.Owned)
		} else {
			p.labels.narrow = mem.Make[uint32](g.arena, p.Owned)
		}
	}
}

// here yields the partitions of this process.
func (g *Graph) here() iter.Seq[*Partition] { return here(g.Parts) }

func here(parts []*Partition) iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		for _, p := range parts {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

// Has reports whether a vertex belongs to a partition of this process.
func (a *Builder) Has(id pregel.VertexID) bool {
	q, _ := a.g.Deal.Of(uint32(id))
	return id < pregel.VertexID(a.g.N) && a.g.Parts[q] != nil
}

// Owned returns the number of vertices in partitions of this process.
func (a *Builder) Owned() int {
	n := 0
	for p := range a.g.here() {
		n += p.Owned
	}
	return n
}

// Vertex sets the facts of a vertex of this process, except those in the graph's maps. It may be
// called concurrently for different vertices.
func (a *Builder) Vertex(id pregel.VertexID, f Facts) {
	q, i := a.g.Deal.Of(uint32(id))
	p := a.g.Parts[q]
	p.OutDegrees[i] = f.Out
	if a.g.Directed {
		p.InDegrees[i] = f.In
	}
	if p.TupleDegrees != nil {
		p.TupleDegrees[i] = f.Tuples
	}
	switch {
	case p.labels.wide != nil:
		p.labels.wide[i] = f.Label
	case p.labels.narrow != nil:
		first, _ := a.g.Labels.First()
		p.labels.narrow[i] = uint32(f.Label - first)
	}
}

// Link makes the partitions' blocks from their lists. exchange sends messages to partitions of
// other processes; it may be nil if there are none. Afterwards the graph's Arcs and LeastWeight
// cover only the partitions of this process.
func (a *Builder) Link(ctx context.Context, exchange Exchange) error {
	g := a.g
	if exchange == nil { // all partitions are in this process
		exchange = noExchange
	}
	for p := range g.here() {
		g.Arcs += uint64(len(p.In.Adj))
		if !g.Directed {
			p.Out = p.In
		}
	}
	var err error
	if a.o.Grid.Flat() {
		err = a.link(ctx, exchange)
	} else {
		err = a.cut(ctx, exchange, false)
	}
	if err != nil {
		return err
	}
	if err := g.findWeightRange(); err != nil {
		return err
	}
	if g.Directed && !a.o.Grid.Flat() {
		if err := a.cut(ctx, exchange, true); err != nil {
			return err
		}
	}
	a.built = true
	return nil
}

func noExchange(context.Context, iter.Seq[Message], func(Message) error) error { return nil }

// End frees the temporary memory of the build and, if Link did not finish, the graph. It must
// always be called.
func (a *Builder) End() {
	for _, l := range a.open {
		l.tmp.Close()
	}
	a.tmp.Close()
	if a.lists != a.g.arena {
		a.lists.Close()
		a.outLists.Close()
	}
	if !a.built { // an error, or a panic because memory was exhausted
		a.g.Close()
		return
	}
	// A graph that becomes unreachable without Close is freed, too.
	runtime.AddCleanup(a.g, func(arena *mem.Arena) { arena.Close() }, a.g.arena)
}
