package cluster

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
)

// buildShare makes this worker's share of the graph of Graph500. Every worker makes the whole graph, and uses its
// partitions.
func buildShare(ctx context.Context, group *collective.Group, _ uint32, in *edges.Share, owner []int, o graph.Options) (*graph500.Built, error) {
	generator, err := generate.Parse(in.Name)
	if err != nil {
		return nil, fmt.Errorf("the generator: %w", err)
	}
	all, err := generate.Input(ctx, generator, generate.Options{Weights: o.Weights, Team: o.Team})
	if err != nil {
		return nil, err
	}
	defer all.Close()
	all.Vertices = 0
	whole, err := graph.Build(ctx, all, o)
	if err != nil {
		return nil, err
	}
	b := &graph500.Built{Inputs: map[int][]uint32{}, TupleDegrees: map[int][]uint32{}}
	var own []int
	for i, rank := range owner {
		if rank != group.Link().Rank() {
			continue
		}
		own = append(own, i)
		inputs, degrees := make([]uint32, whole.Parts[i].Owned), make([]uint32, whole.Parts[i].Owned)
		for local := range inputs {
			inputs[local] = whole.Order[whole.Parts[i].Global(uint32(local))]
			degrees[local] = whole.TupleDegrees[inputs[local]]
		}
		b.Inputs[i], b.TupleDegrees[i] = inputs, degrees
	}
	b.Graph = whole.Share(own...)
	return b, nil
}
