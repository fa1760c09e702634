package graph

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Builder makes those partitions of a graph that are in this process. Package build finds the
// vertices' ids and brings their facts and arcs, in any order. The lists of both directions are
// made at once or one after the other, which takes less memory.
//
//	NewBuilder -> Own -> Vertex ... -> { Scatter -> Arcs or Tuples ... -> Finish } -> Link
type Builder struct {
	g    *Graph
	o    Options
	team *parallel.Team
	tmp  *mem.Arena
	// of the lists of in-edges, and of out-edges, that Scatter makes: the graph's, if they are kept
	lists, outLists *mem.Arena
	open            []*Scatter
	built           bool
}

// Facts are a vertex's input id, the lengths of its stored lists and, for TEPS, how many tuples,
// without loops, touch it.
type Facts struct {
	Label           uint64
	Out, In, Tuples uint32
}

// NewBuilder begins a graph that has no partitions yet. The caller fills in what else is known of
// it.
func NewBuilder(g *Graph, o Options) (*Builder, error) {
	if err := o.Place(); err != nil {
		return nil, err
	}
	g.Weights, g.Options = o.Weights, o
	g.Options.Team, g.Options.Progress, g.Options.Budget = nil, nil, nil
	g.arena = &mem.Arena{Budget: o.Budget, Kind: mem.Graph}
	g.Parts = make([]*Partition, o.Partitions)
	a := &Builder{g: g, o: o, team: o.Team, tmp: &mem.Arena{Budget: o.Budget, Kind: mem.Loading}, lists: g.arena, outLists: g.arena}
	if !o.Grid.Flat() {
		a.lists = &mem.Arena{Budget: o.Budget, Kind: mem.Loading}
		a.outLists = &mem.Arena{Budget: o.Budget, Kind: mem.Loading}
	}
	return a, nil
}

// Place sets the number of partitions and their grid, and refuses invalid ones.
func (o *Options) Place() error {
	if int(o.Duplicates) >= len(DuplicateWords) {
		return fmt.Errorf("there is no way %d with duplicates", o.Duplicates)
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
	return nil
}

// Arena is the memory of the graph: what lies there goes with the graph, or with End if that is not
// built.
func (a *Builder) Arena() *mem.Arena { return a.g.arena }

// Own makes the partitions of this process, with room for the facts of their vertices. The graph's
// number of vertices must be set and, if it has them, its maps. wide says that input ids may need
// more than 32 bits.
func (a *Builder) Own(own []int, wide bool) {
	g := a.g
	for _, i := range own {
		p := &Partition{Index: i, Of: len(g.Parts), Owned: owned(g.N, i, len(g.Parts)), graph: g}
		g.Parts[i] = p
		padded := (p.Owned + 63) &^ 63
		p.OutDegrees = mem.Make[uint32](g.arena, padded)
		p.InDegrees = p.OutDegrees
		if g.Directed {
			p.InDegrees = mem.Make[uint32](g.arena, padded)
		}
		if g.Order != nil {
			continue
		}
		if a.o.TupleDegrees {
			p.TupleDegrees = mem.Make[uint32](g.arena, p.Owned)
		}
		if wide {
			p.labels = mem.Make[uint64](g.arena, p.Owned)
		} else {
			p.Inputs = mem.Make[uint32](g.arena, p.Owned)
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

// Has reports whether a vertex belongs to a partition that is made here.
func (a *Builder) Has(id pregel.VertexID) bool {
	return id < pregel.VertexID(a.g.N) && a.g.Parts[id%pregel.VertexID(len(a.g.Parts))] != nil
}

// Owned returns how many vertices belong to partitions that are made here.
func (a *Builder) Owned() int {
	n := 0
	for p := range a.g.here() {
		n += p.Owned
	}
	return n
}

// Vertex sets the facts of a vertex of this process, except those in the graph's maps. It may be
// called for different vertices concurrently.
func (a *Builder) Vertex(id pregel.VertexID, f Facts) {
	n := pregel.VertexID(len(a.g.Parts))
	p, i := a.g.Parts[id%n], id/n
	p.OutDegrees[i] = f.Out
	if a.g.Directed {
		p.InDegrees[i] = f.In
	}
	if p.TupleDegrees != nil {
		p.TupleDegrees[i] = f.Tuples
	}
	switch {
	case p.labels != nil:
		p.labels[i] = f.Label
	case p.Inputs != nil:
		first, _ := a.g.Labels.First()
		p.Inputs[i] = uint32(f.Label - first)
	}
}

// Scatter makes room for the lists of in-edges or, of a directed graph, for those of out-edges.
// length returns the number of arcs of a row. The lists of out-edges, in a grid that is not flat,
// become the blocks of reversed arcs.
func (a *Builder) Scatter(in bool, length func(p *Partition, row uint32) int) (*Scatter, error) {
	l, err := a.newScatter(in, length)
	if err == nil {
		a.open = append(a.open, l)
	}
	return l, err
}

// Link makes the partitions' blocks of their lists; exchange reaches the partitions of other
// processes. The graph's Arcs and LeastWeight are of the partitions here.
func (a *Builder) Link(ctx context.Context, exchange Exchange) error {
	g := a.g
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
		err = a.cut(ctx, exchange)
	}
	if err != nil {
		return err
	}
	if err := g.weigh(); err != nil {
		return err
	}
	if g.Directed && !a.o.Grid.Flat() {
		if err := a.cutReversed(ctx, exchange); err != nil {
			return err
		}
	}
	a.built = true
	return nil
}

// End frees the memory of building and, if Link did not finish, the graph. It must always be
// called.
func (a *Builder) End() {
	for _, l := range a.open {
		l.tmp.Close()
	}
	a.tmp.Close()
	if a.lists != a.g.arena {
		a.lists.Close()
		a.outLists.Close()
	}
	if !a.built { // an error, or a panic for want of memory
		a.g.Close()
		return
	}
	// A graph that becomes unreachable without Close frees its memory, too.
	runtime.AddCleanup(a.g, func(arena *mem.Arena) { arena.Close() }, a.g.arena)
}

func (a *Builder) progress(stage string, done, total int64) {
	if a.o.Progress != nil {
		a.o.Progress(stage, min(done, total), total)
	}
}
