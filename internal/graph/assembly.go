package graph

import (
	"context"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Assembly makes a process's share of a graph of which nobody has the whole: package spread finds the vertices' handles
// and brings their facts and arcs, in any order.
//
//	NewAssembly -> Vertex ... -> Open -> Arcs ... -> Close
type Assembly struct {
	assembler
	in, out *scatter
	built   bool
}

// Facts are what is known of a vertex: its input id, the lengths of its stored lists and, for TEPS, how many tuples,
// loops apart, touch it.
type Facts struct {
	Label           uint64
	Out, In, Tuples uint32
}

// NewAssembly begins the partitions own of a graph. Of that are known its name, direction and numbers of vertices, tuples,
// loops and duplicates; Labels, if ids are consecutive, and then wide is false. wide says that input ids may need more
// than 32 bits. o.Partitions or o.Grid is set.
func NewAssembly(g *Graph, own []int, wide bool, o Options) (*Assembly, error) {
	if err := o.place(); err != nil {
		return nil, err
	}
	a := &Assembly{assembler: newAssembler(g, o)}
	a.o.UnitWeights = false // weights come as they are to be stored
	for _, i := range own {
		p := a.own(i)
		padded := (p.Owned + 63) &^ 63
		p.OutDegrees = mem.Make[uint32](g.arena, padded)
		p.InDegrees = p.OutDegrees
		if g.Directed {
			p.InDegrees = mem.Make[uint32](g.arena, padded)
		}
		if o.TupleDegrees {
			p.TupleDegrees = mem.Make[uint32](g.arena, p.Owned)
		}
		if wide {
			p.labels = mem.Make[uint64](g.arena, p.Owned)
		} else {
			p.Inputs = mem.Make[uint32](g.arena, p.Owned)
		}
	}
	return a, nil
}

// Has reports whether a vertex belongs to a partition that is made here.
func (a *Assembly) Has(id pregel.VertexID) bool {
	return id < pregel.VertexID(a.g.N) && a.g.Parts[id%pregel.VertexID(len(a.g.Parts))] != nil
}

// Owned returns how many vertices belong to partitions that are made here.
func (a *Assembly) Owned() int {
	n := 0
	for p := range a.g.here() {
		n += p.Owned
	}
	return n
}

// Vertex tells the facts of a vertex that is made here. It may be called for different ones at once.
func (a *Assembly) Vertex(id pregel.VertexID, f Facts) {
	n := pregel.VertexID(len(a.g.Parts))
	p, i := a.g.Parts[id%n], id/n
	p.OutDegrees[i] = f.Out
	if a.g.Directed {
		p.InDegrees[i] = f.In
	}
	if p.TupleDegrees != nil {
		p.TupleDegrees[i] = f.Tuples
	}
	if p.labels != nil {
		p.labels[i] = f.Label
	} else {
		first, _ := a.g.Labels.First()
		p.Inputs[i] = uint32(f.Label - first)
	}
}

// Open makes room for the lists, when the facts of all vertices are known.
func (a *Assembly) Open() (err error) {
	a.in, err = a.scatter(true, func(p *Partition, row uint32) int { return int(p.InDegrees[row]) })
	if err == nil && a.g.Directed && a.o.Grid.Flat() {
		a.out, err = a.scatter(false, func(p *Partition, row uint32) int { return int(p.OutDegrees[row]) })
	}
	return err
}

// Rows reports which lists are made: those of in-edges always, those of out-edges of directed graphs in flat grids.
func (a *Assembly) Rows() (in, out bool) { return true, a.out != nil }

// Arcs adds arcs to the lists of in-edges or of out-edges: row << 32 | neighbour, the row's vertex one that is made here.
// Weights are those of the arcs if the graph has any. Each worker of the team may call it at the same time.
func (a *Assembly) Arcs(worker int, in bool, arcs []uint64, single []float32, double []float64) {
	s := a.in
	if !in {
		s = a.out
	}
	s.dealArcs(s.stage(worker), arcs, single, double)
}

// Close makes the partitions of what was told; exchange reaches those of other processes. The graph's Arcs and LeastWeight
// are of the partitions here.
func (a *Assembly) Close(ctx context.Context, exchange Exchange) error {
	for _, s := range []*scatter{a.in, a.out} {
		if s == nil {
			continue
		}
		s.flushAll()
		if err := s.full(); err != nil {
			return err
		}
		if err := s.finish(ctx); err != nil {
			return err
		}
	}
	if err := a.join(ctx, exchange); err != nil {
		return err
	}
	a.built = true
	return nil
}

// End gives back what building took and, if Close did not come to its end, the graph. It is called always.
func (a *Assembly) End() {
	for _, s := range []*scatter{a.in, a.out} {
		if s != nil {
			s.tmp.Close()
		}
	}
	a.end(a.built)
}
