package cluster

import (
	"context"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/spread"
	"github.com/superstep-go/superstep/internal/graph500"
)

// buildShare makes this worker's share of the graph of Graph500.
func buildShare(ctx context.Context, group *collective.Group, tag uint32, in *edges.Share, owner []int, o graph.Options) (*graph500.Built, error) {
	o.Partitions = len(owner)
	g, d, err := spread.Build(ctx, group, tag, in, owner, o)
	if err != nil {
		return nil, err
	}
	d.Close() // nobody asks for vertices by their input ids
	b := &graph500.Built{Graph: g, Inputs: map[int][]uint32{}, TupleDegrees: map[int][]uint32{}}
	for i, p := range g.Parts {
		if p != nil {
			b.Inputs[i], b.TupleDegrees[i] = p.Inputs, p.TupleDegrees
		}
	}
	return b, nil
}
