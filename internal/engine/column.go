package engine

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// column is what a partition's vertices send to all their neighbours: the messages, which the
// kernel holds, and who sent one.
type column struct {
	kernel kernel.Broadcast
	way    int // its number in the instance
	// HB: read marks the senders whose messages this superstep delivers, write those of the
	// vertices that run now. Both are by source slot; expand fills the ghosts' words.
	read, write *bitmap.Frontier

	out        *graph.Degrees // how many edges a message crosses
	delivering sending        // what the last superstep sent
}

// sending counts senders to all neighbours, and the edges that their messages cross.
type sending struct{ senders, edges int }

// pull is the traversal of a block, by the kernel of the column that is delivered through it.
type pull struct {
	kernel.Pull
	from *column
}

// columnOf returns the column that is delivered through block i of the layout.
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

// edgesOf returns the lists of edges that messages of a direction cross, in a flat grid. Columns of
// edges have the properties of one list after the other.
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

// edgeLists gives the program the lists of edges, by its direction, and by either, which the graph
// has in any case.
func (r *partition) edgeLists(s *kernel.State) (err error) {
	other := func(d pregel.Direction) []*kernel.EdgeLists {
		lists, _ := r.edgesOf(d) // of a flat grid
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
