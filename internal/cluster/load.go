package cluster

import (
	"context"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// share is a worker's part of a loaded graph.
type share struct {
	*graph.Graph
	directory *build.Directory
}

func (s *share) free() {
	s.Graph.Close()
	s.directory.Close()
}

// Tags of the group of workers that load a graph.
const (
	forReading = iota
	forBuilding
)

// loadShare loads this worker's partitions of a graph, together with the others of the group: each reads or makes its part
// of the tuples.
func loadShare(ctx context.Context, group *collective.Group, l *control.Load, team *parallel.Team, progress func(stage string, done, total int64)) (*share, error) {
	request, store, err := jobspec.Source(l.Source)
	if err != nil {
		return nil, err
	}
	store.Grid, store.Team, request.Team = graph.Grid{Rows: int(l.Rows), Columns: int(l.Columns)}, team, team
	store.Partitions = len(l.Placements)
	store.Progress, request.Progress = progress, progress
	var in *edges.Share
	err = group.InOrder(ctx, forReading, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		in, err = load.OpenShare(ctx, request, group.Link().Rank(), group.Link().Size())
		return err
	})
	if err != nil {
		if in != nil {
			in.Close()
		}
		return nil, err
	}
	if request.IfAny && !in.Edges.Weighted() {
		store.Weights = edges.Unweighted
	}
	g, d, err := build.Graph(ctx, group, forBuilding, in, layoutOf(l.Placements).Owner, store)
	if err != nil {
		return nil, err
	}
	return &share{g, d}, nil
}
