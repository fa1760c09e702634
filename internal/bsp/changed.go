package bsp

import (
	"slices"

	"github.com/superstep-go/superstep/internal/delivery"
)

// loaded is what a coordinator knows of a graph before the program changes it.
type loaded struct {
	ids, vertices, edges uint64
	loads                []delivery.Load
}

// changed takes what the partitions report of the graph after changes.
func (c *coordinator) changed(reports []*Report) {
	if c.loaded == nil {
		c.loaded = &loaded{c.ids, c.vertices, c.edges, slices.Clone(c.loads)}
	}
	first := reports[0].Changed
	c.ids, c.vertices, c.edges = first.IDs, first.Vertices, first.Edges
	c.view.NumVertices, c.view.NumEdges = c.vertices, c.edges
	for i := range c.loads {
		l := &c.loads[i]
		l.Vertices, l.Arcs, l.Classes, l.Untransposed, l.Listed, l.Ghosts = int(c.ids), 0, [33]int{}, 0, 0, 0
	}
	for _, p := range reports {
		if p.Changed == nil || len(p.Changed.Ways)+1 != len(c.loads) {
			continue // the next superstep's choice is worse, and right all the same
		}
		c.loads[0].Add(&p.Changed.Load)
		for i := range p.Changed.Ways {
			c.loads[1+i].Add(&p.Changed.Ways[i])
		}
	}
}

// reload goes back to the graph as it was loaded, for another run.
func (c *coordinator) reload() {
	if was := c.loaded; was != nil {
		c.ids, c.vertices, c.edges = was.ids, was.vertices, was.edges
		c.view.NumVertices, c.view.NumEdges = c.vertices, c.edges
		copy(c.loads, was.loads)
	}
}
