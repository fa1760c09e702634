package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/superstep-go/superstep/internal/backend"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/fill"
	"github.com/superstep-go/superstep/internal/following"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// remote is a graph on the cluster. It implements backend.Graph.
type remote struct {
	conn  *Connection
	g     *graph.Graph // the sizes, and the input ids of the vertices
	load  string       // the id of the load, to detect that the graph was loaded again
	named bool         // the vertices have names, which the cluster has
}

// Cluster returns the connection.
func (r *remote) Cluster() any { return r.conn }

// Closed is called when the graph is closed.
func (r *remote) Closed() {
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	delete(r.conn.graphs, r)
}

// Find asks the cluster for the input id of a name.
func (r *remote) Find(name string) (uint64, bool) {
	for _, one := range r.names([]string{name}, nil) {
		if one.Name == name {
			return one.Label, true
		}
	}
	return 0, false
}

// Name asks the cluster for the name of a vertex.
func (r *remote) Name(label uint64) (string, bool) {
	for _, one := range r.names(nil, []uint64{label}) {
		if one.Label == label {
			return one.Name, true
		}
	}
	return "", false
}

// names asks the cluster for the names of vertices, or for the input ids of names. It leaves out
// unknown ones, and all if the cluster does not answer.
func (r *remote) names(names []string, labels []uint64) []*control.Name {
	if !r.named {
		return nil
	}
	ctx, release, err := r.conn.use(context.Background())
	if err != nil {
		return nil
	}
	defer release()
	found, err := r.conn.client.Names(ctx, r.g.Name, names, labels)
	if err != nil {
		r.conn.client.Log(fmt.Sprintf("graph %s: the names of vertices: %v", r.g.Name, err))
	}
	return found
}

// Run runs a program on the cluster, as a job.
func (r *remote) Run(ctx context.Context, to *backend.Job) (*backend.Outcome, error) {
	ctx, release, err := r.conn.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	spec, err := r.spec(to)
	if err != nil {
		return nil, err
	}
	if err := r.addInputs(ctx, spec, to.Inputs); err != nil {
		return nil, err
	}
	w := &watched{job: to, times: following.Times{}, out: sticky{w: to.File}}
	w.trace.New = func() trace.Journal {
		all := trace.Tee{w.times, w, to.Record}
		if to.File != nil {
			all = append(all, trace.NewWriter(&w.out))
		}
		return &following.Late{To: &trace.Named{To: all, Name: engine.Name(to.Given)}}
	}
	job, err := r.conn.client.Run(ctx, spec, w.event)
	if err != nil {
		return nil, err
	}
	if job.State != control.JobState_JOB_STATE_DONE {
		return nil, jobError(job)
	}
	if lost := int(job.Supersteps) - len(w.times); lost > 0 && to.Complete {
		return nil, fmt.Errorf("cluster: the trace of job %s lacks %d of its %d supersteps: this client was too slow", job.Id, lost, job.Supersteps)
	}
	out := &backend.Outcome{
		Job: job.Id, Outcome: resolve.OutcomeOfJob(job),
		Seconds: w.times.Seconds(int(job.Supersteps), math.NaN()),
	}
	if err = r.fetch(ctx, out, to); err != nil {
		return nil, err
	}
	out.Totals, err = totalsOf(job, to.Program.Aggregates(to.Deterministic))
	return out, err
}

// fetch fetches the values of a job's vertices.
func (r *remote) fetch(ctx context.Context, out *backend.Outcome, to *backend.Job) error {
	ids, vertices := r.g.N, r.g.N
	if left := out.Left; left != nil {
		if out.IDs > graph.MaxVertices || out.IDs < uint64(r.g.N) || left.Vertices > out.IDs {
			return fmt.Errorf("cluster: job %s has left %d vertices with ids below %d", out.Job,
				left.Vertices, out.IDs)
		}
		ids, vertices = int(out.IDs), int(left.Vertices)
	}
	column := to.NewColumn(ids, out.Left != nil)
	if _, err := r.conn.client.Result(ctx, out.Job, false, column); err != nil {
		return err
	}
	if err := column.Whole(vertices); err != nil {
		return fmt.Errorf("cluster: the result of job %s: %w", out.Job, err)
	}
	return nil
}

// totalsOf returns the values of a job's aggregators. An aggregator whose value was too large to
// send has none; the log has a line about it.
func totalsOf(job *control.Job, aggregates bsp.Aggregates) ([]kernel.Cell, error) {
	cells, told := aggregates.Cells(), map[string][]byte{}
	for _, a := range job.Aggregators {
		told[a.Name] = a.Value
	}
	for _, a := range aggregates.All {
		if len(told[a.Name]) == 0 {
			cells[a.Number] = nil
			continue
		}
		if err := cells[a.Number].Decode(told[a.Name], pack.IntoValue); err != nil {
			return nil, fmt.Errorf("cluster: job %s: aggregator %s: %w", job.Id, a.Name, err)
		}
	}
	return cells, nil
}

// spec returns the job specification of a program.
func (r *remote) spec(to *backend.Job) (*job.Spec, error) {
	label := func(id pregel.VertexID) (uint64, bool) {
		if uint64(id) >= uint64(r.g.N) {
			return 0, false
		}
		return r.g.Label(id), true
	}
	var refused error
	for _, e := range r.conn.programs {
		switch values, ok, err := e.Given(to.Given, to.Zero, label); {
		case err != nil:
			refused = fmt.Errorf("cluster: %w", err)
		case ok:
			return &job.Spec{
				Program: e.Name, Parameters: values, Graph: r.g.Name, Load: r.load,
				KeepResult: true, Unsorted: true, Form: e.Form(),
				Values: to.Values, Options: to.Options, KeepWhen: to.KeepWhen,
			}, nil
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("cluster: program %s is none of the cluster's: give Options.Programs "+
		"what pregel.Register returns for it, with the name under which the cluster's binary "+
		"registers it", engine.Name(to.Given))
}

// addInputs adds the inputs of the program's columns to a job's spec: the results of earlier jobs,
// and values, which it sends now.
func (r *remote) addInputs(ctx context.Context, spec *job.Spec, all []backend.Input) error {
	spec.Inputs, spec.ColumnData = map[string]string{}, map[string]*job.ColumnData{}
	for _, in := range all {
		if in.Job != "" {
			spec.Inputs[in.Column.Name] = in.Job
			continue
		}
		data := &job.ColumnData{Values: in.Type, Load: r.load}
		write, file, at := in.Write, "", graphio.Column{}
		var err error
		if write == nil {
			if file, at, err = graphio.SplitColumn(in.File); err != nil {
				return fmt.Errorf("cluster: column %s: %w", in.Column.Name, err)
			}
			at.Named = r.named && !in.Column.OfEdges
			data = &job.ColumnData{File: file, Named: at.Named}
			write = func(ctx context.Context, w io.Writer) error {
				if _, err := fill.CopyLines(ctx, w, &in.Column, file, at); err != nil {
					return fmt.Errorf("cluster: column %s: %w", in.Column.Name, err)
				}
				return nil
			}
		}
		err = r.conn.client.SendColumn(ctx, data, func(w io.Writer) error { return write(ctx, w) })
		if err != nil {
			return err
		}
		spec.ColumnData[in.Column.Name] = data
	}
	return nil
}

// watched follows a job by its events.
type watched struct {
	job   *backend.Job
	trace jobtrace.Observer
	out   sticky
	times following.Times // of each superstep that was received
	step  trace.Step
}

// Record reports the progress after a superstep.
func (w *watched) Record(e trace.Event) error {
	if s, ok := e.(*record.Superstep); ok && s.Ran() && w.job.Progress != nil {
		w.step.Sum(s)
		w.job.Progress(bsp.Progress{
			Superstep: s.Superstep, Active: w.step.Active, Senders: w.step.Senders,
			Scheme: s.Scheme, Seconds: s.Seconds,
		})
	}
	return nil
}

func (w *watched) event(e *control.JobEvent) error {
	w.trace.Event("", e)
	if log := e.GetLog(); log != nil && w.job.Log != nil {
		w.job.Log(log.Text)
	}
	return w.out.err
}

// sticky is a writer that remembers its first error.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = cmp.Or(s.err, err)
	return n, err
}

// jobError returns why a job did not succeed.
func jobError(job *control.Job) error {
	switch {
	case job.Panic != nil:
		return job.Panic.Err()
	case job.State == control.JobState_JOB_STATE_CANCELLED:
		return fmt.Errorf("cluster: job %s was cancelled: %s", job.Id, job.Reason)
	default:
		return fmt.Errorf("cluster: job %s: %s", job.Id, job.Reason)
	}
}
