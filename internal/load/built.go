package load

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// Build opens a graph in this process, and builds it with the options. A snapshot with the same
// options is opened as it is stored. If the options do not set partitions it keeps those of the
// snapshot. With Within it then builds the part within the set. The caller closes the input, which
// is the graph's tuples, and then the graph.
func Build(ctx context.Context, r Request, o graph.Options) (*graph.Graph, *edges.Input, error) {
	if r.Within != "" {
		return r.buildWithin(ctx, o)
	}
	if snapshot.Is(r.Name) {
		return r.buildSnapshot(ctx, o)
	}
	in, err := Open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if r.IfAny && !in.Edges.Weighted() && !o.UnitWeights {
		o.Weights = edges.Unweighted
	}
	g, err := build.Local(ctx, in, o)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return g, in, nil
}

// buildSnapshot is Build for a snapshot.
func (r Request) buildSnapshot(
	ctx context.Context, o graph.Options,
) (*graph.Graph, *edges.Input, error) {
	saved, m, err := r.openSnapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o.Grid == (graph.Grid{}) && o.Partitions == 0 {
		o.Grid = saved.Options.Grid
	}
	if err := o.Place(); err != nil {
		saved.Close()
		return nil, nil, err
	}
	if r.IfAny && !o.UnitWeights {
		o.Weights = saved.Weights
	}
	if r.adopt(saved, o) {
		return saved, inputOf(saved, m), nil
	}
	defer saved.Close()
	in := inputOf(saved, m)
	if r.Directed != nil {
		in.Directed = *r.Directed
	}
	built, err := build.Local(ctx, in, o)
	if err != nil {
		return nil, nil, err
	}
	return built, inputOf(built, m), nil
}

// adopt applies the options to a saved graph. It returns false if the graph must be built again for
// them.
func (r Request) adopt(g *graph.Graph, o graph.Options) bool {
	was := g.Options
	switch {
	case o.Grid != was.Grid &&
		!(o.Grid.Flat() && was.Grid.Flat() && o.Partitions == was.Partitions), // stored alike
		r.Directed != nil && *r.Directed != g.Directed, o.InputOrder != was.InputOrder,
		o.TupleDegrees,
		o.Duplicates != was.Duplicates && o.Duplicates != graph.KeepDuplicates &&
			was.Duplicates == graph.KeepDuplicates,
		o.DropLoops && !was.DropLoops && g.Loops > 0,
		o.Weights != was.Weights, o.UnitWeights && !was.UnitWeights &&
			o.Weights != edges.Unweighted:
		return false
	}
	if o.Duplicates != graph.KeepDuplicates {
		g.Options.Duplicates = o.Duplicates
	}
	g.Options.Grid = o.Grid
	g.Options.DropLoops, g.Options.UnitWeights = o.DropLoops || was.DropLoops, o.UnitWeights ||
		was.UnitWeights
	return true
}

// openSnapshot opens a snapshot, without its weights if none are wanted.
func (r Request) openSnapshot(ctx context.Context) (*graph.Graph, *snapshot.Manifest, error) {
	place, err := r.findSnapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer place.Close()
	g, err := place.Open(ctx, r.Name, r.snapshotOptions())
	if err != nil {
		return nil, nil, err
	}
	return g, place.Manifest, r.suit(g)
}

func (r Request) snapshotOptions() snapshot.Options {
	return snapshot.Options{Team: r.Team, Progress: r.stage("opening " + r.Name)}
}

// findSnapshot reads the manifest of a snapshot. The caller closes the place.
func (r Request) findSnapshot(ctx context.Context) (*snapshot.Place, error) {
	if r.Format != "" {
		return nil, fmt.Errorf("%s: a snapshot has no format: --format %s is for files", r.Name,
			r.Format)
	}
	return snapshot.Find(ctx, r.Name)
}

// suit adapts an opened graph to the request: it drops weights that are not wanted. If the graph
// lacks what is wanted, suit closes it and returns an error.
func (r Request) suit(g *graph.Graph) (err error) {
	switch {
	case r.Directed != nil && *r.Directed && !g.Directed:
		err = fmt.Errorf("%s: found an undirected graph, expected a directed one: the snapshot has no directions",
			r.Name)
	case g.Weights == edges.Unweighted && r.Weights != edges.Unweighted && !r.IfAny:
		err = r.weightless()
	case r.Weights == edges.Unweighted && g.Weights != edges.Unweighted:
		g.WithoutWeights()
	}
	if err != nil {
		g.Close()
	}
	return err
}

// inputOf returns the tuples of a snapshot.
func inputOf(g *graph.Graph, m *snapshot.Manifest) *edges.Input {
	in := g.Input()
	in.Account = []string{m.Account()}
	return in
}
