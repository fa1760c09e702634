package graph

import (
	"context"
	"iter"
	"runtime"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// assembler makes those partitions of a graph that are in this process, once the vertices have their handles.
type assembler struct {
	g     *Graph
	o     Options
	team  *parallel.Team
	tmp   *mem.Arena
	lists *mem.Arena // of what scatter makes: the graph's, if it is to stay
}

// newAssembler makes an assembler of a graph that has no partitions yet, with options that are in order.
func newAssembler(g *Graph, o Options) assembler {
	g.Weights, g.Options = o.Weights, o
	g.Options.Team, g.Options.Progress, g.Options.Meter = nil, nil, nil
	g.arena = &mem.Arena{Meter: o.Meter}
	g.Parts = make([]*Partition, max(o.Partitions, 1))
	a := assembler{g: g, o: o, team: o.Team, tmp: &mem.Arena{Meter: o.Meter}, lists: g.arena}
	if a.team == nil {
		a.team = parallel.NewTeam(1, false)
	}
	if o.Grid != (Grid{}) && !o.Grid.Flat() {
		a.lists = &mem.Arena{Meter: o.Meter}
	}
	return a
}

// end gives back what is not the graph's or, if that was not built, all.
func (a *assembler) end(built bool) {
	a.tmp.Close()
	if a.lists != a.g.arena {
		a.lists.Close()
	}
	if !built { // an error, or a panic for want of memory
		a.g.Close()
		return
	}
	// A graph that is forgotten rather than closed gives its memory back too.
	runtime.AddCleanup(a.g, func(arena *mem.Arena) { arena.Close() }, a.g.arena)
}

// own makes a partition of this process. The graph's number of vertices must be known.
func (a *assembler) own(i int) *Partition {
	n := len(a.g.Parts)
	p := &Partition{Index: i, Of: n, Owned: owned(a.g.N, i, n), graph: a.g}
	a.g.Parts[i] = p
	return p
}

// here yields the partitions of this process.
func (g *Graph) here() iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		for _, p := range g.Parts {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

// join makes blocks of the lists: of both directions in a flat grid, of the in-edges in others.
func (a *assembler) join(ctx context.Context, exchange Exchange) error {
	for p := range a.g.here() {
		a.g.Arcs += uint64(len(p.In.Adj))
		if !a.g.Directed {
			p.Out = p.In
		}
	}
	if a.o.Grid.Flat() {
		return a.link(ctx, exchange)
	}
	return a.blocks(ctx)
}

// blocks cuts the lists of in-edges into the blocks of a grid that is not flat.
func (a *assembler) blocks(ctx context.Context) error {
	c := &cutter{a: a, parts: a.g.Parts, tmp: a.tmp}
	for _, p := range a.g.Parts {
		p.begin(a.o.Grid)
		c.lists = append(c.lists, &p.In.Lists)
	}
	made, err := c.cut(ctx, a.lists.Close)
	if err != nil {
		return err
	}
	for i, p := range a.g.Parts {
		p.In, p.Out, p.along = nil, nil, Blocks{made[i], made[i]}
	}
	a.g.leastWeight()
	return nil
}

func (a *assembler) progress(stage string, done, total int64) {
	if a.o.Progress != nil {
		a.o.Progress(stage, min(done, total), total)
	}
}

// weight returns what is stored for a tuple's weight.
func (a *assembler) weight(w float64) float64 {
	if a.o.UnitWeights {
		return 1
	}
	if a.o.Weights == edges.Float32 {
		return float64(float32(w))
	}
	return w
}
