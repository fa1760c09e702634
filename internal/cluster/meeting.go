package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/worker"
)

// Meet opens a session with the workers that will load a graph, or measure.
func (x *Executor) Meet(ctx context.Context, _ worker.Task, m *control.Meet) error {
	session, err := x.meet(ctx, fmt.Sprintf("load %d %s", m.Attempt, m.Graph), 0, m.Placements, nil)
	if err != nil {
		return lost(x.options.Name, err)
	}
	x.part(m.Graph)
	x.mu.Lock()
	x.meetings[m.Graph] = session
	x.mu.Unlock()
	return nil
}

// part ends the meeting for a graph, if there is one.
func (x *Executor) part(graph string) {
	if s := x.meeting(graph); s != nil {
		s.Close()
	}
}

// meeting takes the session to load a graph by, or nil.
func (x *Executor) meeting(graph string) *mesh.Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.meetings[graph]
	delete(x.meetings, graph)
	return s
}

// Load loads this worker's partitions of a graph.
func (x *Executor) Load(ctx context.Context, t worker.Task, l *control.Load) (*control.LoadReport, error) {
	began := time.Now()
	session := x.meeting(l.Graph)
	if session == nil {
		return nil, fmt.Errorf("worker %s did not meet others to load %s", x.options.Name, l.Graph)
	}
	defer session.Close()
	group, err := collective.NewGroup(session.Link(), nil, nil)
	if err != nil {
		return nil, err
	}
	team := x.team()
	defer team.Close()
	s, err := loadShare(ctx, group, l, team, t.Progress)
	if err != nil {
		var broken *worker.LostError
		if errors.As(lost(x.options.Name, session.Err()), &broken) {
			return nil, broken // whatever others made of it
		}
		return nil, err
	}
	report := &control.LoadReport{
		Vertices: uint64(s.N), Edges: uint64(s.Tuples), Arcs: s.Arcs, Bytes: uint64(s.Bytes() + s.directory.Bytes()), Directed: s.Directed,
		Weighted: s.Weights != edges.Unweighted, Seconds: time.Since(began).Seconds(),
	}
	g := &loaded{share: s, Refs: mem.NewRefs(s.free)}
	if t.Job == "" {
		g.offer = &control.Offer{Load: l, Report: report}
	}
	return report, put(ctx, x, x.graphs, l.Graph, g)
}
