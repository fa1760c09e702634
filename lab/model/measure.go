package model

import (
	"context"

	"github.com/superstep-go/superstep/pregel"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
)

// measuredScale is the scale of the graph for timing kernels. Its columns exceed the caches of a
// core.
const measuredScale = 18

// Measure measures a search's kernels on this machine with one thread.
func Measure(ctx context.Context) (Rates, error) {
	in, err := generate.Input(ctx,
		generate.Kronecker{Scale: measuredScale, EdgeFactor: 16, Seed1: 2, Seed2: 3},
		generate.Options{})
	if err != nil {
		return Rates{}, err
	}
	defer in.Close()
	g, err := build.Local(ctx, in, graph.Options{Duplicates: graph.LeastDuplicate, DropLoops: true})
	if err != nil {
		return Rates{}, err
	}
	defer g.Close()
	p, err := engine.NewProgram(pregel.Erase(algorithms.BFS{}))
	if err != nil {
		return Rates{}, err
	}
	share, err := p.Bind(ctx, g, engine.Options{})
	if err != nil {
		return Rates{}, err
	}
	defer share.Close()
	r := share.Facts().Rates
	return Rates{Push: r.Push, Probe: r.Probe, Row: r.Row, Word: r.Word, Value: r.Value}, nil
}

// Faster returns the rates of threads that are this many times as fast.
func (r Rates) Faster(times float64) Rates {
	return Rates{r.Push / times, r.Probe / times, r.Row / times, r.Word / times, r.Value / times}
}
