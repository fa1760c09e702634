package resolve

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
)

// Demand estimates the memory of a graph before it is read or generated. The zero value means
// unknown.
type Demand struct {
	vertices uint64
	tuples   int
	directed bool
	options  graph.Options
}

// DemandOf returns the demand of a source in a grid. It is known for a generator, but not for a
// file or snapshot, which the workers inspect when they open it.
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
		return Demand{} // the workers reject it
	}
	d := Demand{vertices: g.Vertices(), tuples: g.Edges(), directed: g.Directed(), options: o}
	if d.options.Grid = grid; r.IfAny {
		d.options.Weights = edges.Unweighted // a generator makes weights only on request
	}
	if r.Directed != nil {
		d.directed = *r.Directed
	}
	return d
}

// Bytes returns a lower bound for the memory of a worker with own of all partitions; 0 if unknown.
func (d Demand) Bytes(own, all int) int64 {
	if d.vertices == 0 {
		return 0
	}
	return graph.LeastShare(own, all, d.vertices, d.tuples, d.directed, d.options)
}
