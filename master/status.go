package master

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// ListWorkers lists the workers by name, then those that are gone.
func (s *Server) ListWorkers(context.Context, *connect.Request[control.ListWorkersRequest]) (*connect.Response[control.ListWorkersResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	workers, more := fittingWorkers(s.workers())
	return connect.NewResponse(&control.ListWorkersResponse{Workers: workers, More: uint32(more)}), nil
}

func (s *Server) workers() []*control.Worker {
	var all []*control.Worker
	names := slices.Sorted(maps.Keys(s.cluster.workers))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(gone(s.cluster.workers[a]), gone(s.cluster.workers[b]))
	})
	for _, name := range names {
		w := s.cluster.workers[name]
		all = append(all, &control.Worker{
			Name: name, State: w.state, Reason: cmp.Or(w.reason, w.excluded), Incarnation: w.incarnation, Version: w.about.Version, Cores: w.about.Cores,
			Memory: w.about.Memory, DataAddress: w.about.DataAddress, Site: w.about.Site, Attached: w.attached,
			Suspected: w.suspected, Excluded: w.excluded != "", HeardSeconds: (s.now() - w.heard).Seconds(), MemoryUsed: w.used, HttpAddress: w.about.HttpAddress,
			Ways: w.ways, Budget: w.budget,
		})
	}
	return all
}

// gone is 0 for a worker that is there.
func gone(w *worker) int {
	if w.live() {
		return 0
	}
	return 1
}

// Status says how the cluster is.
func (s *Server) Status(ctx context.Context, _ *connect.Request[control.StatusRequest]) (*connect.Response[control.StatusResponse], error) {
	return connect.NewResponse(s.shownStatus(ctx)), nil
}

// shownStatus returns the status as a caller may see it.
func (s *Server) shownStatus(ctx context.Context) *control.StatusResponse {
	all := s.status()
	for i, j := range all.Jobs {
		all.Jobs[i] = s.shownJob(ctx, j)
	}
	for _, g := range all.Graphs {
		s.shownGraph(ctx, g)
	}
	return all
}

// status is whole, as messages have it: of long lists a part.
func (s *Server) status() *control.StatusResponse {
	all := s.whole()
	workers, someWorkers := fittingWorkers(all.Workers)
	graphs, someGraphs := fitting(all.Graphs)
	jobs, someJobs := fittingActive(all.Jobs)
	all.Workers, all.Graphs, all.Jobs, all.More = workers, graphs, jobs, uint32(someWorkers+someGraphs+someJobs)
	return all
}

// whole is how the cluster is, with all that there is.
func (s *Server) whole() *control.StatusResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &control.StatusResponse{
		Version: s.options.Version, Master: s.id, UptimeSeconds: s.now().Seconds(), Workers: s.workers(), Graphs: s.graphs(),
		Jobs: s.jobs(false), JobsEnded: uint64(s.cluster.jobsEnd), Refused: uint64(s.cluster.refused + s.turned),
		RefusedTokens: uint64(s.turned), Now: s.stamp(s.now()), WorkersLost: uint64(s.cluster.lost), Stale: uint64(s.stale),
		Quotas: s.quotaUses(), Stragglers: uint64(s.cluster.straggled), Refusing: s.refusing,
	}
}

// statusPage is the status for people with curl.
func (s *Server) statusPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(control.StatusText(s.shownStatus(r.Context()))))
}
