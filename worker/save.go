package worker

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/snapshot"
	files "github.com/superstep-go/superstep/internal/store"
)

// save stores this worker's partitions of a graph, and its part of the directory, as files of a
// snapshot; or commits what all workers have stored, or removes what this one has.
func (x *executor) save(ctx context.Context, t task, s *control.Save) (*control.SaveReport, error) {
	ctx = x.options.confine(ctx)
	place, err := files.RootsOf(ctx).Make(s.Place)
	if err != nil {
		return nil, err
	}
	defer files.Close(place)
	if len(s.Commit) > 0 {
		m, err := snapshot.Decode(s.Commit)
		if err != nil {
			return nil, err
		}
		if err := snapshot.Commit(ctx, place, m); err != nil {
			return nil, err
		}
		return saved(m)
	}
	if !control.ValidName(s.Snapshot) {
		return nil, fmt.Errorf("found the snapshot's id %.40q", s.Snapshot)
	}
	if s.Remove {
		return &control.SaveReport{}, snapshot.Remove(ctx, place, s.Snapshot)
	}
	g, err := x.use(s.Graph)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	rank, ids, labels, first := g.directory.Share()
	index := snapshot.Index{IDs: ids, Labels: labels, First: first}
	index.Names, index.FirstName = g.directory.Names.Share()
	if err := snapshot.Absent(ctx, place); err != nil {
		return nil, err
	}
	threads := x.threads()
	defer threads.Close()
	m, err := snapshot.SaveShare(ctx, place, s.Snapshot, g.Graph, rank, index, snapshot.Options{
		Team: threads, Progress: func(done, all int64) { t.progress("saving "+s.Graph, done, all) },
	})
	if err != nil {
		return nil, err
	}
	return saved(m)
}

func saved(m *snapshot.Manifest) (*control.SaveReport, error) {
	data, err := m.Encode()
	return &control.SaveReport{Manifest: data}, err
}
