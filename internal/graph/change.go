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

// Change is what becomes of the vertices and of the arcs that go out from one partition's vertices.
// An edge of an undirected graph is an arc from either of its ends.
type Change struct {
	// N is the number of vertices of the whole graph from now on, the same in every partition and
	// at least as many as before: the ids from the old number on are new vertices, without edges
	// yet.
	N int
	// Remove are arcs of which all parallel ones go: weights do not matter, and what is not there
	// is ignored.
	Remove []Arc
	// Add are arcs that are added after that, in this order: parallel arcs and loops become what
	// the graph's Options say, and of several arcs between the same ends of an undirected graph
	// those from the smaller id come first.
	Add []Arc
	// AsStored says that the weights are those of a graph like this one, as Partition.Difference
	// has them: they stay as they are.
	AsStored bool
	// Places asks for Changed.OutFrom and InFrom.
	Places bool
	// Team does the work; nil is one goroutine.
	Team *parallel.Team
}

// Arc is an arc between vertices, its source owned by the partition that changes.
type Arc struct {
	From, To pregel.VertexID
	Weight   float64
}

// AllToAll sends data[q] to each other partition q, and returns what each of them sent here. All
// partitions call it at the same time. What stands at the caller's own place is ignored.
type AllToAll func(ctx context.Context, data [][]byte) ([][]byte, error)

// NewPlace stands for an arc that was in no place before.
const NewPlace = math.MaxUint32

// Changed is a partition after a change. Its Absent is a copy, which the caller may change as long
// as nobody else has the partition.
type Changed struct {
	Partition *Partition
	// Arcs counts the arcs that the partition stores, each with the owner of its receiver, or in
	// its block of the grid.
	Arcs int64
	// OutFrom and InFrom say of each arc of Partition.Out and, of a directed graph, Partition.In
	// where it was before, or NewPlace. They are nil if no list has changed, in a grid that is not
	// flat, or if Change.Places did not ask for them.
	OutFrom, InFrom []uint32

	uses []*storage
}

// Close frees what the partition alone uses. It is idempotent. A partition that Assemble has taken
// is its graph's to close.
func (c *Changed) Close() {
	for _, r := range c.uses {
		r.release()
	}
	c.uses = nil
}

// Changed returns the partition as it is after a change. All partitions of the graph call it at the
// same time, each from its own goroutine, and exchange reaches the others: with one partition it is
// not called. p does not change. What the caller holds of p, its memory, must stay until the graph
// that p was built with is no longer used: lists are shared with it, if none here changes.
func (p *Partition) Changed(ctx context.Context, c Change, exchange AllToAll) (_ *Changed, err error) {
	defer mem.Recover(&err)
	if err := p.valid(c); err != nil {
		return nil, fmt.Errorf("changing partition %d: %w", p.Index, err)
	}
	a := &changer{p: p, Change: c, exchange: exchange, tmp: &mem.Arena{Budget: p.graph.arena.Budget, Kind: mem.Loading}}
	defer a.tmp.Close()
	out, err := a.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("changing partition %d: %w", p.Index, err)
	}
	return out, nil
}

// valid refuses a change that is not of this partition.
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
			if arc.From >= pregel.VertexID(c.N) || arc.To >= pregel.VertexID(c.N) ||
				int(uint64(arc.From)%uint64(p.Of)) != p.Index {
				return fmt.Errorf("an arc from %d to %d, of %d vertices", arc.From, arc.To, c.N)
			}
		}
	}
	return nil
}

// changer makes the new partition.
//
//	arcs -> edits of rows, some at other partitions -> splices of lists -> lists by ids -> slots, ghosts
type changer struct {
	Change
	p        *Partition
	exchange AllToAll
	tmp      *mem.Arena // of what is needed until the partition is there

	next *Partition
	uses []*storage
}

// run makes the new partition, and frees what it made of it when it fails.
func (a *changer) run(ctx context.Context) (out *Changed, err error) {
	defer func() {
		if out == nil { // an error, or a panic for want of memory
			(&Changed{uses: a.uses}).Close()
		}
	}()
	a.next = a.header()
	return a.blocks(ctx)
}

// header makes the new partition, still without lists, in a graph of which no other partition is
// known.
func (a *changer) header() *Partition {
	old := a.p.graph
	g := &Graph{
		Name: old.Name, N: a.N, Directed: old.Directed, Weights: old.Weights, Options: old.Options,
		Connected:   a.N,
		LeastWeight: old.LeastWeight, Order: old.Order, IDs: old.IDs, Labels: old.Labels,
		added: old.added,
		Parts: make([]*Partition, len(old.Parts)),
	}
	g.Options.TupleDegrees = false
	own := &storage{Arena: mem.Arena{Budget: old.arena.Budget}}
	g.arena = &own.Arena
	p := &Partition{
		Index: a.p.Index, Of: a.p.Of, Owned: owned(a.N, a.p.Index, a.p.Of), graph: g,
		Inputs: a.p.Inputs, labels: a.p.labels,
		lists: a.share(own),
	}
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
