package engine

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// column has the messages of a partition's vertices to all neighbours: the kernel has the messages,
// and bitmaps tell which vertices sent one.
type column struct {
	kernel kernel.Broadcast
	way    int // its number in the instance
	// HB of Ueno13. read marks the senders of the messages that this superstep delivers. write
	// marks the vertices that send in this superstep. Both are by source slot; expand sets the
	// words of ghosts.
	read, write *bitmap.Frontier

	// Numbers of edges: out has those that a vertex's message crosses, in those over which messages
	// reach a vertex.
	out, in    *graph.Degrees
	delivering sending // counts of the messages that the last superstep sent
}

// sending counts the senders to all neighbours, and the edges that their messages cross.
type sending struct{ senders, edges int }

// pull is the traversal of a block, and the column whose messages it delivers.
type pull struct {
	kernel.Pull
	from *column
}

// columnOf returns the column that block i of the layout delivers.
func (r *partition) columnOf(i int) *column {
	if i > 0 && r.back != nil {
		return r.back
	}
	return &r.column
}

// crossed reports whether messages cross block i of the layout in this superstep.
func (r *partition) crossed(i int) bool {
	return r.back == nil || r.command.Ways&(1<<i) != 0
}

// edgesOf returns the lists of edges that messages of a direction cross, in a flat grid. Edge
// columns have the properties of the first list, then those of the second.
func (r *partition) edgesOf(d pregel.Direction) ([]*kernel.EdgeLists, error) {
	if !r.part.Grid.Flat() {
		return nil, noEdges(r.part.Grid)
	}
	one := func(d pregel.Direction) *kernel.EdgeLists {
		l := r.part.Layout(d)
		return &kernel.EdgeLists{Lists: l.Blocks[0].Push.BySender.Lists, Slots: *l.Slots}
	}
	if d == pregel.Out || d == pregel.In {
		return []*kernel.EdgeLists{one(d)}, nil
	}
	both := []*kernel.EdgeLists{one(pregel.Out), one(pregel.In)}
	both[1].Offset = uint32(len(both[0].Adj))
	return both, nil
}

// edgeLists sets the lists of edges that the program sees: by its own direction, and by the other
// one. The graph has both in any case.
func (r *partition) edgeLists(s *kernel.State) (err error) {
	other := func(d pregel.Direction) []*kernel.EdgeLists {
		lists, _ := r.edgesOf(d) // no error: the grid is flat
		lists[0].Other = true
		return lists
	}
	if s.Edges, err = r.edgesOf(r.job.direction); err != nil {
		return err
	}
	for _, l := range s.Edges {
		l.Properties = r.properties
	}
	s.Out, s.In = s.Edges[:1], s.Edges[len(s.Edges)-1:]
	switch {
	case r.job.direction == pregel.In:
		s.Out = other(pregel.Out)
	case r.job.direction == pregel.Out && r.job.graph.Directed:
		s.In = other(pregel.In)
	case r.job.direction == pregel.Either:
		s.Edges = s.Out
	}
	return nil
}
