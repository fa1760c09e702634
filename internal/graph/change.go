package graph

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Change is a change of the arcs that lead out of one partition's vertices, and of the number of
// vertices. An edge of an undirected graph is an arc from either of its ends.
type Change struct {
	// N is the new number of vertices of the whole graph, the same in every partition. It is at
	// least the old number. Ids from the old number on are new vertices without edges.
	N int
	// Remove has arcs to remove, with all their parallel arcs. Weights are ignored, and so are arcs
	// that do not exist.
	Remove []Arc
	// Add has arcs to add after that, in this order. The graph's Options apply to parallel arcs and
	// loops. Of several arcs between the same two vertices of an undirected graph, those from the
	// smaller id come first.
	Add []Arc
	// AsStored means that the weights come from Partition.Difference, so they are stored unchanged.
	AsStored bool
	// Places requests Changed.OutFrom and InFrom.
	Places bool
	// Team does the work; nil means one goroutine.
	Team *parallel.Team
}

// Arc is an arc between vertices. The partition to change owns its source.
type Arc struct {
	From, To pregel.VertexID
	Weight   float64
}

// AllToAll sends data[q] to each other partition q, and returns the data received from each. All
// partitions call it at the same time. The element of the caller's own partition is ignored.
type AllToAll func(ctx context.Context, data [][]byte) ([][]byte, error)

// NewPlace is the old index of an arc that did not exist before.
const NewPlace = math.MaxUint32

// Changed is a partition after a change. Its Absent is a copy. The caller may change it while
// nobody else uses the partition.
type Changed struct {
	Partition *Partition
	// Arcs is the number of arcs that the partition stores. In a flat grid, an arc is counted by
	// the owner of its receiver, in a 2D grid by the partition with its block.
	Arcs int64
	// OutFrom and InFrom have the old index, or NewPlace, of each arc of Partition.Out and, in a
	// directed graph, of Partition.In. They are nil if no list has changed, in a 2D grid, or if
	// Change.Places is not set.
	OutFrom, InFrom []uint32

	uses []*storage
}

// Close frees the memory that only this partition uses. It is idempotent. After Assemble, the graph
// closes the partition instead.
func (c *Changed) Close() {
	for _, r := range c.uses {
		r.release()
	}
	c.uses = nil
}

// Changed returns the partition after a change. All partitions of the graph call it at the same
// time, each on its own goroutine. with sends data to the others; it is not called if there is
// only one partition. p does not change. The memory of the graph that p was built with must stay
// until the result is no longer used, because the two share unchanged lists.
func (p *Partition) Changed(ctx context.Context, c Change, with AllToAll) (_ *Changed, err error) {
	defer mem.Recover(&err)
	if err := p.valid(c); err != nil {
		return nil, fmt.Errorf("changing partition %d: %w", p.Index, err)
	}
	tmp := &mem.Arena{Budget: p.graph.arena.Budget, Kind: mem.Loading}
	a := &changer{p: p, Change: c, exchange: with, tmp: tmp}
	defer a.tmp.Close()
	out, err := a.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("changing partition %d: %w", p.Index, err)
	}
	return out, nil
}

// valid checks that a change is valid for this partition.
func (p *Partition) valid(c Change) error {
	switch {
	case c.N < p.graph.N:
		return fmt.Errorf("%d vertices: there are %d already", c.N, p.graph.N)
	case c.N > MaxVertices:
		return TooManyVertices(uint64(c.N))
	}
	if err := checkChanges(len(c.Remove) + len(c.Add)); err != nil {
		return err
	}
	for _, list := range [][]Arc{c.Remove, c.Add} {
		for _, arc := range list {
			if q, _ := p.Deal.Of(uint32(arc.From)); arc.From >= pregel.VertexID(c.N) ||
				arc.To >= pregel.VertexID(c.N) || q != p.Index {
				return fmt.Errorf("an arc from %d to %d, of %d vertices", arc.From, arc.To, c.N)
			}
		}
	}
	return nil
}

// changer makes the new partition.
//
//	arcs -> edits of rows, some in other partitions -> splices of lists -> lists -> slots, ghosts
type changer struct {
	Change
	p        *Partition
	exchange AllToAll
	tmp      *mem.Arena // memory until the partition is complete

	next *Partition
	uses []*storage
}

// run makes the new partition. If that fails, it frees what it has made.
func (a *changer) run(ctx context.Context) (out *Changed, err error) {
	defer func() {
		if out == nil { // an error, or a panic because memory was exhausted
			(&Changed{uses: a.uses}).Close()
		}
	}()
	a.next = a.header()
	return a.blocks(ctx)
}

// header makes the new partition, without lists, in a graph that has no other partition.
func (a *changer) header() *Partition {
	old := a.p.graph
	g := &Graph{
		Name: old.Name, N: a.N, Directed: old.Directed, Weights: old.Weights, Options: old.Options,
		Connected: a.N, LeastWeight: old.LeastWeight, Order: old.Order, IDs: old.IDs,
		Labels: old.Labels, added: old.added, least: old.least,
		Parts: make([]*Partition, len(old.Parts)), Deal: old.Deal,
	}
	g.Options.TupleDegrees = false
	own := &storage{Arena: mem.Arena{Budget: old.arena.Budget}}
	g.arena = &own.Arena
	p := g.partition(a.p.Index)
	p.labels, p.lists = a.p.labels, a.share(own)
	if a.p.Absent != nil {
		p.Absent = make([]uint64, p.Words())
		copy(p.Absent, a.p.Absent)
	}
	p.begin(a.p.Grid)
	g.Parts[p.Index] = p
	return p
}

// weight returns a weight as the graph stores it.
func (a *changer) weight(w float64) float64 {
	if a.AsStored {
		return w
	}
	return a.p.graph.Weigh(w)
}

func (a *changer) weighted() bool { return a.p.graph.Weights != edges.Unweighted }
