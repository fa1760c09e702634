package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// OpenShare opens a rank's partitions of a snapshot that was saved with the same options, and its
// share of the index, for build.Restored. It returns nil in any other case: then OpenRank reads the
// rank's tuples.
func OpenShare(
	ctx context.Context, r Request, o graph.Options, rank, ranks int, owner []int,
) (*graph.Graph, build.Share, error) {
	if !snapshot.Is(r.Name) || r.Within != "" {
		return nil, build.Share{}, nil
	}
	place, err := r.findSnapshot(ctx)
	if err != nil {
		return nil, build.Share{}, err
	}
	defer place.Close()
	// Decide by the manifest alone, so that all ranks decide alike.
	g, err := r.openPartitions(ctx, place, nil, false)
	if err != nil {
		return nil, build.Share{}, err
	}
	if r.IfAny && !o.UnitWeights {
		o.Weights = g.Weights
	}
	fits := r.adopt(g, o)
	g.Close()
	if !fits {
		return nil, build.Share{}, nil
	}
	var own []int
	for p, of := range owner {
		if of == rank {
			own = append(own, p)
		}
	}
	if g, err = r.openPartitions(ctx, place, own, false); err != nil {
		return nil, build.Share{}, err
	}
	r.adopt(g, o)
	x, err := place.OpenShare(ctx, rank, ranks, r.Team)
	names, failed := place.OpenNames(ctx, rank, ranks)
	if err = errors.Join(err, failed); err != nil {
		g.Close()
		return nil, build.Share{}, err
	}
	return g, build.Share{Of: fmt.Sprintf("%s %v %v %v", place.ID, g.Options.Grid, g.Weights,
		g.Options.UnitWeights), IDs: x.IDs, Labels: x.Labels, Names: names}, nil
}

// openPartitions opens some partitions of a snapshot as the request wants them.
func (r Request) openPartitions(
	ctx context.Context, place *snapshot.Place, own []int, withMaps bool,
) (*graph.Graph, error) {
	g, err := place.OpenPartitions(ctx, r.Name, own, withMaps, r.snapshotOptions())
	if err == nil {
		err = r.suit(g)
	}
	return g, err
}

// snapshotRank returns the tuples in a rank's share of a snapshot's partitions.
func (r Request) snapshotRank(
	ctx context.Context, rank, ranks int,
) (_ *edges.RankInput, err error) {
	defer mem.Recover(&err)
	place, err := r.findSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	var own []int
	for p := rank; p < len(place.Parts); p += ranks {
		own = append(own, p)
	}
	g, err := r.openPartitions(ctx, place, own, true)
	if err != nil {
		return nil, err
	}
	s := &edges.RankInput{Input: *inputOf(g, place.Manifest)}
	s.Free = g.Close
	if s.Names, err = place.OpenNames(ctx, rank, ranks); err != nil {
		s.Close()
		return nil, err
	}
	if r.Directed != nil {
		s.Directed = *r.Directed
	}
	if _, consecutive := g.Labels.First(); consecutive {
		return s, nil
	}
	from, to := edges.Part(g.N, rank, ranks)
	for v := from; v < to; v++ {
		s.IDs = append(s.IDs, g.Labels.Of(uint64(v)))
	}
	s.Naming, s.Edges, s.Vertices, s.Labels = edges.Listed, edges.Labelled(s.Edges, g.Labels), 0,
		edges.Labels{}
	if g.N > 0 {
		s.Largest = g.Labels.Of(uint64(g.N - 1))
	}
	s.Undeclared = func(context.Context, int, uint64) error { return errIndex }
	s.Repeated = func(context.Context, int, uint64) error { return errIndex }
	return s, nil
}

var errIndex = errors.New("the snapshot's index is not that of its edges")
