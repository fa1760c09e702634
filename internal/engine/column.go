package engine

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// column is what a partition's vertices send to all their neighbours: the messages, which the kernel holds, and who sent one.
type column struct {
	kernel kernel.Broadcast
	way    int // its number in the instance
	// HB: read marks the senders whose messages this superstep delivers, write those of the vertices that run now.
	// Both are by source slot; expand fills the ghosts' words.
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
func (r *runner) columnOf(i int) *column {
	if i > 0 && r.back != nil {
		return r.back
	}
	return &r.column
}

// crossed reports whether messages cross block i of the layout in this superstep.
func (r *runner) crossed(c *bsp.Command, i int) bool {
	return r.back == nil || c.Ways&(1<<i) != 0
}

// edgeLists gives the program the lists of edges, in a flat grid: by its direction, of which edge columns hold properties, and by
// either, which the graph has in any case.
func (r *runner) edgeLists(s *kernel.State) {
	lists := func(d pregel.Direction) *kernel.EdgeLists {
		l := r.part.Layout(d)
		return &kernel.EdgeLists{Lists: l.Blocks[0].Push.BySender.Lists, Slots: *l.Slots, Other: true}
	}
	out, in := lists(pregel.Out), lists(pregel.In)
	if !r.job.graph.Directed {
		in = out
	}
	s.Out, s.In = []*kernel.EdgeLists{out}, []*kernel.EdgeLists{in}
	crossed := s.Out
	switch r.job.direction {
	case pregel.In:
		crossed = s.In
	case pregel.Both, pregel.Either:
		crossed = []*kernel.EdgeLists{out, in}
	}
	offset := 0
	for _, l := range crossed {
		l.Offset, l.Properties, l.Other = uint32(offset), r.properties, false
		offset += len(l.Adj)
	}
	if s.Edges = crossed; r.job.direction == pregel.Either {
		s.Edges = s.Out
	}
}
