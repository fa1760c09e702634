package engine

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
)

// CheckOnCluster checks that a program, and each phase of its plan, can run on a cluster with these
// options. It binds the program to a graph of one vertex. If grid has partitions, it also checks
// that the options fit the grid, but builds no graph on it: with 4,096 partitions that would take
// seconds.
func CheckOnCluster(ctx context.Context, program *Program, o Options, grid graph.Grid) error {
	phases, err := program.Plan().Phases()
	if err != nil {
		return fmt.Errorf("%s: %w", program.Name(), err)
	}
	for _, phase := range phases {
		if err := CheckOnCluster(ctx, phase, o, grid); err != nil {
			return fmt.Errorf("%s: %w", program.Name(), err)
		}
	}
	if _, err := program.Codec(); err != nil {
		return err
	}
	none := edges.NewPacked(1, 0, program.Weights())
	defer none.Close()
	g, err := build.Local(ctx, &edges.Input{Edges: none, Vertices: 1},
		graph.Options{Weights: program.Weights()})
	if err != nil {
		return err
	}
	defer g.Close()
	alike := o
	alike.AnyGraph = true
	bound, err := program.Bind(ctx, g, alike)
	if err != nil {
		return err
	}
	defer bound.Close()
	if n := grid.Partitions(); n < 1 || n > graph.MaxPartitions {
		return nil // no grid is given, or another check rejects it
	}
	f := bound.Facts()
	f.Partitions, f.Load.Partitions, f.Load.Grid = grid.Partitions(), grid.Partitions(), grid
	_, err = program.Driver(o, []*bsp.Facts{f})
	return err
}
