package master

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// removeTime is how long workers have to remove the files of a failed snapshot.
const removeTime = 30 * time.Second

// SaveGraph stores a graph as a snapshot. All its workers store their partitions at the same time,
// then one of them commits. If it fails, or the client disconnects, the workers remove their files.
func (s *server) SaveGraph(
	ctx context.Context, r *control.SaveGraphRequest,
) (_ *control.SaveGraphResponse, err error) {
	defer s.audit.add(ctx, entry{What: "save", Graph: r.Name, Place: r.Place}, &err)
	if err := small(r); err != nil {
		return nil, err
	}
	name, place := r.Name, r.Place
	if place == "" {
		return nil, invalid("save %.150q: found no place, expected a directory that all workers "+
			"see, or s3://BUCKET/PREFIX", name)
	}
	placements, _, err := s.ready(name)
	if err != nil {
		return nil, err
	}
	began := s.now()
	m, err := s.save(ctx, onePerWorker(placements), name, place)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failed(connect.CodeAborted, "graph %s: %w", name, err)
	}
	return &control.SaveGraphResponse{Manifest: m, Seconds: (s.now() - began).Seconds()}, nil
}

// ready returns the placements of a loaded graph, and the report of its load.
func (s *server) ready(
	name string,
) (placements []*control.Placement, report *control.LoadReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.cluster.graphs[name]
	switch {
	case g == nil:
		return nil, nil, absent("there is no graph %.150q", name)
	case g.state != control.GraphState_GRAPH_STATE_READY:
		return nil, nil, unready("graph %s is not there: it is %s", name, g.state.Word())
	}
	return g.placements, g.report, nil
}

// save makes the workers of a team store their partitions and the first of them commit. It returns
// the manifest.
func (s *server) save(
	ctx context.Context, team []*control.Placement, name, place string,
) ([]byte, error) {
	what, id := "save "+name, snapshot.NewID()
	ask := func(
		ctx context.Context, team []*control.Placement, c *control.Save,
	) ([]*control.Report, error) {
		return s.gather(ctx, team, order{what: what, command: &control.Command{
			Body: &control.Command_Save{Save: c},
		}, fits: func(_ int, r *control.Report) bool { return r.GetSave() != nil }})
	}
	reports, err := ask(ctx, team, &control.Save{Graph: name, Place: place, Snapshot: id})
	var m *snapshot.Manifest
	if err == nil {
		m, err = mergeShares(reports)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		for _, p := range team { // workers that are still connected
			_, _ = ask(ctx, []*control.Placement{p},
				&control.Save{Graph: name, Place: place, Snapshot: id, Remove: true})
		}
		return nil, err
	}
	data, err := m.Encode()
	if err != nil {
		return nil, err
	}
	done, err := ask(ctx, team[:1], &control.Save{Graph: name, Place: place, Commit: data})
	if err != nil {
		return nil, err
	}
	return done[0].GetSave().Manifest, nil
}

// mergeShares merges the manifests in the workers' reports.
func mergeShares(reports []*control.Report) (*snapshot.Manifest, error) {
	var shares []*snapshot.Manifest
	for _, r := range reports {
		m, err := snapshot.Decode(r.GetSave().Manifest)
		if err != nil {
			return nil, err
		}
		shares = append(shares, m)
	}
	return snapshot.Merge(shares)
}

// maxListed bounds how many vertices one call lists.
const maxListed = 1 << 16

// maxNames bounds the names and ids of one call.
const maxNames = 1 << 10

// ListVertices returns the input ids of a range of vertices. It asks every worker and merges the
// answers.
func (s *server) ListVertices(
	ctx context.Context, r *control.ListVerticesRequest,
) (*control.ListVerticesResponse, error) {
	placements, report, err := s.ready(r.Graph)
	if err != nil {
		return nil, err
	}
	vertices := report.Vertices
	if r.First > vertices {
		return nil, invalid("found vertex %d of %d", r.First, vertices)
	}
	count := min(vertices-r.First, uint64(r.Count), maxListed)
	if n := len(r.Names) + len(r.NamesOf); n > maxNames {
		return nil, invalid("found %d names and ids of names, expected at most %d", n, maxNames)
	}
	team := onePerWorker(placements)
	answers, err := s.locate(ctx, "list vertices", team, &control.Locate{
		Graph: r.Graph, First: r.First, Count: uint32(count), Names: r.Names, NamesOf: r.NamesOf,
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeAborted, err)
	}
	labels := map[string][]uint64{} // not yet returned, by worker
	response := &control.ListVerticesResponse{}
	for i, a := range answers {
		labels[team[i].Worker] = a.Labels
		response.Names = append(response.Names, a.Names...)
	}
	deal, err := kernel.ParseDeal(len(placements), report.Deal)
	if err != nil {
		return nil, failed(connect.CodeInternal, "graph %s: %w", r.Graph, err)
	}
	for id := r.First; id < r.First+count; id++ {
		partition, _ := deal.Of(uint32(id))
		worker := placements[partition].Worker
		if len(labels[worker]) == 0 {
			return nil, failed(connect.CodeInternal,
				"worker %s knows nothing of vertex %d", worker, id)
		}
		response.Labels = append(response.Labels, labels[worker][0])
		labels[worker] = labels[worker][1:]
	}
	return response, nil
}

// locate asks workers about vertices of their partitions. They answer even while a job runs on the
// graph.
func (s *server) locate(
	ctx context.Context, what string, team []*control.Placement, l *control.Locate,
) ([]*control.Located, error) {
	reports, err := s.gather(ctx, team, order{
		what: what, command: &control.Command{Body: &control.Command_Locate{Locate: l}},
		fits: func(_ int, report *control.Report) bool { return report.GetLocated() != nil },
	})
	var answers []*control.Located
	for _, report := range reports {
		answers = append(answers, report.GetLocated())
	}
	return answers, err
}

// namePatience is how long a failed job waits for the name of a vertex.
const namePatience = 2 * time.Second

// namePanic looks up the name of the vertex in which a program panicked. A worker other than the
// failed one may have the name.
func (r *run) namePanic(ctx context.Context, f *control.Failure) {
	p := f.Panic
	// The graph may have names even if the failed run did not report so.
	if p == nil || !p.Known || p.Name != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	// If no worker answers, the message keeps the input id.
	answers, _ := r.server.locate(ctx, "find names", r.team,
		&control.Locate{Graph: r.job.graph(), NamesOf: []uint64{p.Vertex}})
	for _, a := range answers {
		for _, one := range a.Names {
			p.Name = one.Name
			f.Message = control.Text(p.Err().Error(), control.MaxText)
		}
	}
}
