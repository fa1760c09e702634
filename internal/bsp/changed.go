package bsp

import (
	"slices"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/record"
)

// size is the size of a graph. ids includes removed vertices, and unused new ids in a graph that
// the program changes.
type size struct{ ids, vertices, edges uint64 }

// setSize records the size of the graph.
func (c *coordinator) setSize(s size) {
	c.size, c.view.NumVertices, c.view.NumEdges = s, s.vertices, s.edges
}

// loaded is the size of a graph before the program changes it.
type loaded struct {
	size
	loads []delivery.Load
}

// resized returns the size of the graph after a superstep that changed it, by requests or by
// messages to vertices that did not exist. It returns nil if the superstep did not change the
// graph.
func (c *coordinator) resized(reports []*Report) *record.GraphSize {
	if len(reports) == 0 {
		return nil
	}
	created := 0
	for _, p := range reports {
		created += int(p.Created)
	}
	by := reports[0].Changed
	if by == nil && created == 0 {
		return nil
	}
	size := &record.GraphSize{Vertices: c.vertices, Arcs: c.edges}
	if by != nil {
		size.Vertices, size.Arcs = by.Vertices, by.Edges
	}
	size.Vertices += uint64(created)
	return size
}

// resize records the size of the graph after a superstep.
func (c *coordinator) resize(reports []*Report) {
	size := c.resized(reports)
	if size == nil {
		return
	}
	if c.loaded == nil {
		c.loaded = &loaded{c.size, slices.Clone(c.loads)}
	}
	if reports[0].Changed != nil {
		c.changed(reports)
	}
	c.vertices, c.edges = size.Vertices, size.Arcs
	c.outcome.Left, c.outcome.IDs = size, c.ids
}

// changed updates the coordinator after changes of the graph, from the partitions' reports.
func (c *coordinator) changed(reports []*Report) {
	first := reports[0].Changed
	c.setSize(size{first.IDs, first.Vertices, first.Edges})
	for i := range c.loads {
		l := &c.loads[i]
		l.Vertices, l.Arcs, l.Classes, l.Untransposed, l.Listed, l.Ghosts = int(c.ids), 0,
			[33]int{}, 0, 0, 0
		l.Hubs = [delivery.MostHubs]delivery.Hubs{}
	}
	for _, p := range reports {
		if p.Changed == nil || len(p.Changed.Ways)+1 != len(c.loads) {
			continue // the next choice of a scheme is worse, but correct
		}
		c.loads[0].Add(&p.Changed.Load)
		for i := range p.Changed.Ways {
			c.loads[1+i].Add(&p.Changed.Ways[i])
		}
	}
}
