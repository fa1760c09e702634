package master

import (
	"cmp"
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// stamp converts a time since the start to a time of day.
func (s *server) stamp(d time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(s.start.Add(d))
}

// small rejects a request above the size limit. The HTTP server checks this too, but callers in
// this process bypass it.
func small(m proto.Message) error {
	if n := proto.Size(m); n > control.MaxSpec {
		return invalid("found a request of %d bytes, expected at most %d", n, control.MaxSpec)
	}
	return control.Bounded(m)
}

// SubmitJob queues a job, unless the client has disconnected meanwhile.
func (s *server) SubmitJob(ctx context.Context, r *control.SubmitJobRequest) (*control.Job, error) {
	j, _, err := s.Submit(ctx, r)
	return j, err
}

// Submit queues a job. If an earlier call with the same key did so, Submit returns that job and
// found is true. It fails if ctx has ended.
func (s *server) Submit(
	ctx context.Context, r *control.SubmitJobRequest,
) (about *control.Job, found bool, err error) {
	defer func() {
		if !found {
			s.audit.add(ctx, entry{
				What: "submit", Job: about.GetId(), Graph: r.Spec().Origin(),
				Program: r.Spec().Program,
			}, &err)
		}
	}()
	if err := small(r); err != nil {
		return nil, false, err
	}
	spec, err := jobspec.Read[jobspec.Spec](r.SpecJson)
	if err != nil {
		return nil, false, invalid("the job: %v", err)
	}
	if err := kindOf(spec).check(s.options.Registry, spec, s.grid(spec)); err != nil {
		return nil, false, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err := s.suits(spec); err != nil {
		return nil, false, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err := s.placed(spec); err != nil {
		return nil, false, err
	}
	if err = s.allowedInputs(ctx, spec); err == nil {
		err = allowedPriority(control.CallerOf(ctx), spec.Priority)
	}
	owner := control.CallerOf(ctx).Owner()
	s.mu.Lock()
	again := s.cluster.jobs[s.cluster.keys[submission{owner, r.Key}]] != nil
	s.mu.Unlock()
	if err == nil && len(spec.ColumnData)+len(spec.Sets) > 0 && !again {
		s.columns.mu.Lock()
		defer s.columns.mu.Unlock()
		if err = s.allowedSent(ctx, spec); err == nil {
			err = s.columns.complete(ctx, spec)
		}
	}
	if err != nil {
		return nil, false, err
	}
	about, err = s.job("", "", func() (j *job, err error) {
		if ctx.Err() != nil { // ctx may end while the call waits for the lock
			return nil, ctx.Err()
		}
		if !again {
			if err := s.takes("takes no job"); err != nil {
				return nil, err
			}
		}
		most := uint64(maxConfirm.Milliseconds())
		j, found, err = s.cluster.submit(s.now(), owner, spec, r.Key,
			time.Duration(min(r.ConfirmMilliseconds, most))*time.Millisecond)
		if err == nil && !found {
			s.commits.made = j
		}
		return j, err
	})
	if err != nil {
		return nil, false, err
	}
	return about, found, nil
}

// ConfirmJob lets a job start after the client has received the answer to its submission.
func (s *server) ConfirmJob(
	ctx context.Context, r *control.ConfirmJobRequest,
) (*control.Job, error) {
	if err := s.allowedJob(ctx, r.Id, "confirm"); err != nil {
		return nil, err
	}
	return s.job(r.Id, "the job may begin", func() (*job, error) {
		return s.cluster.confirm(s.now(), r.Id)
	})
}

// grid returns the grid that a job asks for, or else the grid of the job's graph in the catalog.
func (s *server) grid(spec *jobspec.Spec) layout.Grid {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, columns := spec.Rows, spec.Columns
	if g := s.cluster.graphs[spec.Graph]; g != nil && rows|columns == 0 {
		rows, columns = g.rows, g.columns
	}
	return layout.Grid{Rows: int(rows), Columns: int(columns)}
}

// job calls do and returns the description of its job: the job of id, or a new one. done is the
// text about the change for the client, in case the change could not be written.
func (s *server) job(id, done string, do func() (*job, error)) (about *control.Job, err error) {
	err = s.commit(func() error {
		j, err := do()
		if err != nil {
			return err
		}
		about = s.describeWhole(j)
		return nil
	})
	return about, s.lasting(err, change{job: id}, done)
}

// ListJobs lists jobs, oldest first.
func (s *server) ListJobs(
	ctx context.Context, r *control.ListJobsRequest,
) (*control.ListJobsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.jobs(r.Ended)
	if before := r.Before; before != "" {
		end := slices.IndexFunc(all, func(j *control.Job) bool { return j.Id == before })
		if end < 0 {
			return nil, noJob(before)
		}
		all = all[:end]
	}
	slices.Reverse(all) // fitting keeps the first, and the newest jobs are last
	jobs, more := fitting(all)
	slices.Reverse(jobs)
	for i, j := range jobs {
		jobs[i] = s.shownJob(ctx, j)
	}
	return &control.ListJobsResponse{Jobs: jobs, More: uint32(more), Now: s.stamp(s.now())}, nil
}

func (s *server) jobs(ended bool) []*control.Job {
	var all []*control.Job
	for _, j := range s.cluster.order {
		if ended || !j.state.Ended() {
			all = append(all, briefJob(s.describe(j), func() *jobspec.Spec { return j.spec }))
		}
	}
	return all
}

// GetJob returns the state of a job.
func (s *server) GetJob(ctx context.Context, r *control.GetJobRequest) (*control.Job, error) {
	j, err := s.job(r.Id, "", func() (*job, error) { return s.cluster.job(r.Id) })
	if err != nil {
		return nil, err
	}
	return s.shownJob(ctx, j), nil
}

// CancelJob cancels a job.
func (s *server) CancelJob(
	ctx context.Context, r *control.CancelJobRequest,
) (_ *control.Job, err error) {
	defer s.audit.add(ctx, entry{What: "cancel", Job: r.Id}, &err)
	if err := s.allowedJob(ctx, r.Id, "cancel"); err != nil {
		return nil, err
	}
	reason := cmp.Or(r.Reason, "cancelled by a client")
	return s.job(r.Id, "the job is being cancelled", func() (*job, error) {
		return s.cluster.cancel(s.now(), r.Id, reason)
	})
}

// WatchJob streams the events of a job.
func (s *server) WatchJob(
	ctx context.Context, r *control.WatchJobRequest, stream *connect.ServerStream[control.JobEvent],
) error {
	owner, ended := "", false
	s.mu.Lock()
	j := s.journals[r.Id]
	if known := s.cluster.jobs[r.Id]; known != nil {
		owner, ended = known.owner, slices.Contains(s.past, known)
	}
	s.mu.Unlock()
	if j == nil {
		return noJob(r.Id)
	}
	at, version, told := r.After, uint64(0), control.Told{}
	pass := func(events []*control.JobEvent) error {
		for _, e := range events {
			if at = max(at, e.Sequence); e.Sequence <= r.After || told.Again(e) {
				continue
			}
			if err := stream.Send(s.shownEvent(ctx, owner, e)); err != nil {
				return err
			}
		}
		return nil
	}
	if r.Logs && at < s.firstEvent {
		if err := pass(s.logs.before(r.Id, ended, s.firstEvent, s.stamp(0))); err != nil {
			return err
		}
	}
	for {
		events, changed, more := j.after(at)
		if err := pass(events); err != nil {
			return err
		}
		if !more || r.Past {
			return nil
		}
		far, now := j.progress(version)
		if version = now; far != nil {
			e := &control.JobEvent{Sequence: at, Body: &control.JobEvent_Progress{Progress: far}}
			if err := stream.Send(e); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			return connect.NewError(connect.CodeUnavailable, errClosing)
		case <-ctx.Done():
			return ctx.Err()
		}
		// Batch the events of fast supersteps. A send per superstep would delay the next one.
		select {
		case <-time.After(watchPace):
		case <-j.over:
		case <-s.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// watchPace is how long events of a job are collected before they are sent together.
const watchPace = 20 * time.Millisecond

// LoadGraph loads a graph and answers when it is loaded. The load continues if the client
// disconnects.
func (s *server) LoadGraph(
	ctx context.Context, r *control.LoadGraphRequest,
) (_ *control.Graph, err error) {
	defer s.audit.add(ctx, entry{What: "load", Graph: r.Name, Source: r.Source().Origin()}, &err)
	if err := small(r); err != nil {
		return nil, err
	}
	source, err := jobspec.Read[jobspec.Source](r.SourceJson)
	if err != nil {
		return nil, invalid("the graph: %v", err)
	}
	var g *graph
	err = s.commit(func() error {
		if err := s.takes("loads no graph"); err != nil {
			return err
		}
		err := s.cluster.loadGraph(control.CallerOf(ctx).Owner(), r.Name, source, r.Rows, r.Columns)
		g = s.cluster.graphs[r.Name]
		return err
	})
	if err = s.lasting(err, change{graph: r.Name}, "the graph is being loaded"); err != nil {
		return nil, err
	}
	err = s.await(ctx, func() bool {
		return g.state == control.GraphState_GRAPH_STATE_READY ||
			g.state == control.GraphState_GRAPH_STATE_FAILED
	})
	if err != nil {
		return nil, ctx.Err()
	}
	var about *control.Graph
	err = s.commit(func() error { // waits until the graph's state is on disk
		if g.state == control.GraphState_GRAPH_STATE_FAILED {
			return failed(connect.CodeAborted, "graph %s: %s", g.name, g.reason)
		}
		about = describeGraph(g)
		return nil
	})
	return about, s.lasting(err, change{graph: r.Name}, "the graph is loaded")
}

func describeGraph(g *graph) *control.Graph {
	return &control.Graph{
		Name: g.name, SourceJson: jobspec.Text(g.source), State: g.state, Reason: g.reason,
		Vertices: g.report.Vertices, Edges: g.report.Edges, Bytes: g.report.Bytes,
		Directed: g.report.Directed, Weighted: g.report.Weighted, Rows: g.rows, Columns: g.columns,
		Placements: g.placements, LoadSeconds: g.report.Seconds, Progress: g.far.sum(),
		Arcs: g.report.Arcs, Load: g.load.String(), Owner: g.owner, Named: g.report.Named,
		Skipped: g.report.Skipped, Notes: g.report.Notes, Fingerprint: g.report.Fingerprint,
		Deal: g.report.Deal,
	}
}

// InspectGraph returns the description of a graph.
func (s *server) InspectGraph(
	ctx context.Context, r *control.InspectGraphRequest,
) (*control.Graph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.cluster.graphs[r.Name]
	if g == nil {
		return nil, absent("there is no graph %.150q", r.Name)
	}
	return s.shownGraph(ctx, describeGraph(g)), nil
}

// DropGraph removes a graph from the catalog and the workers' memory.
func (s *server) DropGraph(
	ctx context.Context, r *control.DropGraphRequest,
) (_ *control.Graph, err error) {
	defer s.audit.add(ctx, entry{What: "drop", Graph: r.Name}, &err)
	if err := s.allowedGraph(ctx, r.Name, "drop"); err != nil {
		return nil, err
	}
	var about *control.Graph
	err = s.commit(func() error {
		g, err := s.cluster.dropGraph(r.Name)
		if err == nil {
			about = describeGraph(g)
		}
		return err
	})
	return about, s.lasting(err, change{graph: r.Name}, "the graph is dropped")
}
