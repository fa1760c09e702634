package master

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// Bounds in bytes: of a list of jobs, graphs or workers in a message, of one entry that is listed
// unabridged, and of a reason.
const (
	mostOfList   = 1 << 20
	mostOfEntry  = 4 << 10
	mostOfReason = 512
)

// fitting returns the first entries of a list that fit into a message, and the number of the
// others.
func fitting[M proto.Message](all []M) (listed []M, more int) {
	size := 0
	for i, m := range all {
		if size += proto.Size(m) + 8; size > mostOfList {
			return all[:i], len(all) - i
		}
	}
	return all, 0
}

// fittingWorkers is fitting for workers. If not all fit, it omits their network measurements.
func fittingWorkers(all []*control.Worker) (listed []*control.Worker, more int) {
	if listed, more = fitting(all); more == 0 {
		return listed, 0
	}
	for _, w := range all {
		w.Ways = nil // these descriptions are not shared
	}
	return fitting(all)
}

// briefJob abridges a job for a list; GetJob returns it in full. described returns the parsed spec.
func briefJob(j *control.Job, described func() *jobspec.Spec) *control.Job {
	if len(j.Aggregators) == 0 && len(j.Reason) <= mostOfReason && proto.Size(j) <= mostOfEntry {
		return j
	}
	text := j.SpecJson
	if len(text) > mostOfEntry/2 {
		spec := described()
		text = jobspec.Text(&jobspec.Spec{
			Program: escape.Text(spec.Program, mostOfReason), Graph: escape.Text(spec.Graph,
				mostOfReason), Queueing: spec.Queueing, KeepResult: spec.KeepResult,
			Graph500: spec.Graph500,
			Source:   &jobspec.Source{Input: escape.Text(spec.Source.Origin(), mostOfReason)},
		})
	}
	j = proto.CloneOf(j)
	j.Brief = true
	j.SpecJson, j.Aggregators, j.Reason, j.Stack = text, nil, escape.Text(j.Reason, mostOfReason),
		""
	if proto.Size(j) > 2*mostOfEntry {
		j.Skipped, j.Panic, j.Graph500 = nil, nil, nil
	}
	return j
}

// ListGraphs lists the catalog.
func (s *server) ListGraphs(
	ctx context.Context, r *control.ListGraphsRequest,
) (*control.ListGraphsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	graphs, more := fitting(
		slices.DeleteFunc(s.graphs(), func(g *control.Graph) bool { return g.Name <= r.After }))
	for _, g := range graphs {
		s.shownGraph(ctx, g)
	}
	return &control.ListGraphsResponse{Graphs: graphs, More: uint32(more)}, nil
}

func (s *server) graphs() []*control.Graph {
	var all []*control.Graph
	for _, g := range byName(s.cluster.graphs) {
		all = append(all, briefGraph(describeGraph(g)))
	}
	return all
}

// briefGraph abridges a graph for a list; InspectGraph returns it in full.
func briefGraph(g *control.Graph) *control.Graph {
	reason := escape.Text(g.Reason, mostOfReason)
	g.Brief, g.Reason = reason != g.Reason, reason
	if proto.Size(g) > mostOfEntry {
		g.Brief = true
		g.Skipped, g.Notes, g.SourceJson = nil, nil,
			jobspec.Text(&jobspec.Source{Input: escape.Text(g.Source().Origin(), mostOfReason)})
	}
	return g
}

// ListWorkers lists the live workers by name, then the others.
func (s *server) ListWorkers(
	context.Context, *control.ListWorkersRequest,
) (*control.ListWorkersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	workers, more := fittingWorkers(s.workers())
	return &control.ListWorkersResponse{Workers: workers, More: uint32(more)}, nil
}

func (s *server) workers() []*control.Worker {
	var all []*control.Worker
	workers := byName(s.cluster.workers)
	slices.SortStableFunc(workers, func(a, b *worker) int {
		return cmp.Compare(oneIf(b.live()), oneIf(a.live()))
	})
	for _, w := range workers {
		all = append(all, &control.Worker{
			Name: w.name, State: w.state, Reason: cmp.Or(w.reason, w.excluded),
			Incarnation: w.incarnation, Version: w.about.Version, Cores: w.about.Cores,
			Memory: w.about.Memory, DataAddress: w.about.DataAddress, Site: w.about.Site,
			Attached: w.attached, Suspected: w.suspected, Excluded: w.excluded != "",
			HeardSeconds: (s.now() - w.heard).Seconds(), MemoryUsed: w.used,
			HttpAddress: w.about.HttpAddress, Ways: w.ways, Budget: w.budget,
		})
	}
	return all
}

// oneIf returns 1 or 0, for sorting.
func oneIf(fact bool) int {
	if fact {
		return 1
	}
	return 0
}

// Usage returns the usage of each worker in the last minutes, oldest first.
func (s *server) Usage() map[string][]*control.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]*control.Usage{}
	for name, w := range s.cluster.workers {
		all[name] = slices.Clone(w.usage)
	}
	return all
}

// Status returns the state of the cluster that the caller may see.
func (s *server) Status(
	ctx context.Context, _ *control.StatusRequest,
) (*control.StatusResponse, error) {
	all := s.status()
	for i, j := range all.Jobs {
		all.Jobs[i] = s.shownJob(ctx, j)
	}
	for _, g := range all.Graphs {
		s.shownGraph(ctx, g)
	}
	return all, nil
}

// status returns the status with long lists cut to fit a message.
func (s *server) status() *control.StatusResponse {
	all := s.whole()
	workers, someWorkers := fittingWorkers(all.Workers)
	graphs, someGraphs := fitting(all.Graphs)
	slices.SortStableFunc(all.Jobs, func(a, b *control.Job) int { // omits queued jobs first
		return cmp.Compare(oneIf(a.State == control.JobState_JOB_STATE_QUEUED),
			oneIf(b.State == control.JobState_JOB_STATE_QUEUED))
	})
	jobs, someJobs := fitting(all.Jobs)
	all.Workers, all.Graphs, all.Jobs, all.More = workers, graphs, jobs,
		uint32(someWorkers+someGraphs+someJobs)
	return all
}

// whole returns the complete status.
func (s *server) whole() *control.StatusResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &control.StatusResponse{
		Version: s.options.Version, Master: s.id, UptimeSeconds: s.now().Seconds(),
		Workers: s.workers(), Graphs: s.graphs(), Jobs: s.jobs(false),
		JobsEnded: uint64(s.cluster.jobsEnd), Refused: uint64(s.cluster.refused + s.refused),
		RefusedTokens: uint64(s.refused), Now: s.stamp(s.now()),
		WorkersLost: uint64(s.cluster.lost), Stale: uint64(s.stale), Quotas: s.quotaUses(),
		Stragglers: uint64(s.cluster.straggled), Refusing: s.refusing,
	}
}

// statusPage serves the status as text, for curl.
func (s *server) statusPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	all, _ := s.Status(r.Context(), nil) // never fails
	_, _ = w.Write([]byte(control.Columns(control.StatusText(all), 0)))
}
