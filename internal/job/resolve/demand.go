package resolve

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
)

// Demand is what is known of the memory that a graph takes before anything of it is read or made.
// The zero value is nothing.
type Demand struct {
	vertices uint64
	tuples   int
	directed bool
	options  graph.Options
}

// DemandOf returns what is known of a source, whose partitions lie in a grid: all of a generator;
// nothing of a file or a snapshot, which the workers look at when they open it.
func DemandOf(s *job.Source, grid graph.Grid) Demand {
	if s == nil || !generate.IsGenerator(s.Input) {
		return Demand{}
	}
	r, o, err := Source(s)
	if err != nil {
		return Demand{}
	}
	g, err := generate.Parse(s.Input)
	if err != nil {
		return Demand{} // the workers refuse it
	}
	d := Demand{vertices: g.Vertices(), tuples: g.Edges(), directed: g.Directed(), options: o}
	if d.options.Grid = grid; r.IfAny {
		d.options.Weights = edges.Unweighted // a generator makes weights only if they are asked for
	}
	if r.Directed != nil {
		d.directed = *r.Directed
	}
	return d
}

// Bytes returns what a worker that has so many of all partitions is sure to need, 0 if nothing is
// known.
func (d Demand) Bytes(own, all int) int64 {
	if d.vertices == 0 {
		return 0
	}
	return graph.LeastShare(own, all, d.vertices, d.tuples, d.directed, d.options)
}
