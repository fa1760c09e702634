package cluster

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// source is a GraphSource, understood.
type source struct {
	request load.Request
	store   graph.Options
}

func sourceOf(s *control.GraphSource) (*source, error) {
	out := &source{
		request: load.Request{Name: s.Input, Directed: s.Directed, MaxExpand: int64(s.MaxExpand)},
		store:   graph.Options{DropLoops: s.DropLoops, UnitWeights: s.UnitWeights},
	}
	var err error
	if out.request.Format, err = parsed(s.Format, graphio.ParseFormat); err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	if out.store.Duplicates, err = parsed(s.Duplicates, graph.ParseDuplicates); err != nil {
		return nil, fmt.Errorf("duplicates: %w", err)
	}
	switch s.Weights {
	case "":
		out.store.Weights, out.request.IfAny = edges.Float64, !s.UnitWeights
	case "none":
	case "float32":
		out.store.Weights = edges.Float32
	case "float64":
		out.store.Weights = edges.Float64
	default:
		return nil, fmt.Errorf("weights: found %.40q, expected none, float32 or float64", s.Weights)
	}
	if out.request.Weights = out.store.Weights; s.UnitWeights {
		out.request.Weights = edges.Unweighted
	}
	return out, nil
}

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
	s, err := sourceOf(l.Source)
	if err != nil {
		return nil, err
	}
	s.store.Grid, s.store.Team, s.request.Team = graph.Grid{Rows: int(l.Rows), Columns: int(l.Columns)}, team, team
	s.store.Partitions = len(l.Placements)
	s.store.Progress, s.request.Progress = progress, progress
	var in *edges.Share
	err = group.InOrder(ctx, forReading, func(ctx context.Context) (err error) {
		defer mem.Recover(&err)
		in, err = load.OpenShare(ctx, s.request, group.Link().Rank(), group.Link().Size())
		return err
	})
	if err != nil {
		if in != nil {
			in.Close()
		}
		return nil, err
	}
	if s.request.IfAny && !in.Edges.Weighted() {
		s.store.Weights = edges.Unweighted
	}
	g, d, err := build.Graph(ctx, group, forBuilding, in, layoutOf(l.Placements).Owner, s.store)
	if err != nil {
		return nil, err
	}
	return &share{g, d}, nil
}
