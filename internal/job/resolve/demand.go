package resolve

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
)

// Demand is a lower bound for the memory of a worker that has own of all partitions of a graph,
// before the graph is read or generated. It is 0 if it is unknown.
type Demand func(own, all int) int64

// Unknown is the demand of a graph about which nothing is known.
func Unknown(_, _ int) int64 { return 0 }

// DemandOf returns the demand of a source in a grid. It is known for a generator, but not for a
// file or snapshot, which the workers inspect when they open it.
func DemandOf(s *job.Source, grid graph.Grid) Demand {
	if s == nil || !generate.IsGenerator(s.Input) {
		return Unknown
	}
	r, o, err := load.From(s)
	g, wrong := generate.Parse(s.Input)
	if err != nil || wrong != nil {
		return Unknown // the workers reject it
	}
	directed := g.Directed()
	if o.Grid = grid; r.IfAny {
		o.Weights = edges.Unweighted // a generator makes weights only on request
	}
	if r.Directed != nil {
		directed = *r.Directed
	}
	return func(own, all int) int64 {
		return graph.LeastShare(own, all, g.Vertices(), g.Edges(), directed, o)
	}
}
