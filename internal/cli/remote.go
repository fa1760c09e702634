package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/sets"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// remote runs jobs on a cluster: it submits them, waits for them and fetches the results.
type remote struct {
	*waiting
	flags *runFlags
	seen  *observer
}

// job runs a job. If the job does not end as done, it returns both the job and an error.
func (c *remote) job(ctx context.Context, spec *job.Spec) (*control.Job, error) {
	f := &followed{tell: c.seen.job()}
	spec.Priority = c.flags.cluster.Priority
	job, err := c.waiting.job(ctx, spec, f, c.flags.cluster.Detach)
	if err != nil {
		return nil, err
	}
	return job, outcome(job)
}

func (c *remote) graph500(ctx context.Context, spec *job.Spec) (*graph500.Report, error) {
	job, err := c.job(ctx, spec)
	return benchmark.Report(job), err
}

func (c *remote) netbench(ctx context.Context, spec *job.Spec) (*netbench.Report, error) {
	job, err := c.job(ctx, spec)
	if err != nil {
		return nil, err
	}
	return networkReport(ctx, c.client, job)
}

// networkReport fetches the report of a finished netbench.
func networkReport(
	ctx context.Context, from *client.Client, job *control.Job,
) (*netbench.Report, error) {
	var text bytes.Buffer
	if _, err := from.Result(ctx, job.Id, false, &text); err != nil {
		return nil, err
	}
	report := new(netbench.Report)
	err := json.Unmarshal(text.Bytes(), report)
	if err == nil {
		err = report.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("the report of job %s: %w", job.Id, err)
	}
	return report, nil
}

func (c *remote) program(ctx context.Context, spec *job.Spec, verify bool) (result, error) {
	r := &remoteResult{remote: c, source: spec.Source}
	if verify {
		if err := r.verifiable(ctx, spec); err != nil {
			return nil, err
		}
	}
	if err := c.sendSets(ctx, spec); err != nil {
		return nil, err
	}
	if err := c.sendColumns(ctx, spec); err != nil {
		return nil, err
	}
	var err error
	r.job, err = c.job(ctx, spec)
	return r, err
}

// remoteResult is the result of a program that ran on a cluster.
type remoteResult struct {
	*remote
	job    *control.Job
	source *job.Source // source of the graph, for verification
	lines  []byte      // nil until fetched for verification
}

// verifiable checks, before the job is submitted, that its result can be verified here.
// Verification reads the graph again.
func (r *remoteResult) verifiable(ctx context.Context, spec *job.Spec) error {
	if err := certifiable(r.app.programs, spec); err != nil {
		return err
	}
	if spec.Graph != "" {
		g, err := r.client.Graph(ctx, spec.Graph)
		if err != nil {
			return err
		}
		r.source = g.Source()
	}
	if generate.IsGenerator(r.source.Origin()) || snapshot.Is(r.source.Origin()) {
		return nil
	}
	if err := graphio.Present(r.source.Origin(), graphio.Format(r.source.Format)); err != nil {
		return fmt.Errorf("--verify reads the graph here too: %w", err)
	}
	return nil
}

// verify loads the graph as the workers did, and fetches and checks the result.
func (r *remoteResult) verify(ctx context.Context) error {
	l, err := r.flags.load(ctx, r.seen, r.job.Spec(), r.source, graph.Of(1))
	if err != nil {
		return fmt.Errorf("--verify reads the graph here too: %w", err)
	}
	defer l.close()
	if n := uint64(l.graph.N); n != r.job.Vertices {
		return fmt.Errorf("--verify: %s has %d vertices here and %d on the cluster: is it the same graph?", r.source.Origin(), n, r.job.Vertices)
	}
	var lines bytes.Buffer
	if err := r.write(ctx, &lines); err != nil {
		return err
	}
	r.lines = lines.Bytes()
	form := r.form(r.app)
	texts, err := l.texts(r.lines, form)
	if err == nil {
		text := func(dst []byte, v int) []byte { return append(dst, texts[v]...) }
		err = l.certify(ctx, text, form.Named, int(r.job.Supersteps), trace.Ended(r.job.EndedBy),
			r.job.FinalAggregates())
	}
	if wrong := new(valueError); errors.As(err, &wrong) {
		return fmt.Errorf("the result of job %s: %w", r.job.Id, wrong)
	}
	return err
}

// texts parses a result. It returns the text of each value by input vertex, with blanks between
// fields.
func (l *loaded) texts(lines []byte, form resultlines.Form) ([]string, error) {
	g := l.graph
	if form.Named != (g.Names != nil) {
		return nil,
			&valueError{fmt.Errorf("%s has names of vertices only here, or only on the cluster",
				g.Name)}
	}
	texts, seen, n := make([]string, g.N), make([]bool, g.N), 0
	for line := range bytes.Lines(lines) {
		vertex, value := form.Cut(line)
		label, err := strconv.ParseUint(string(vertex), 10, 64)
		ok := err == nil
		if form.Named {
			label, ok = g.Names.Find(resultlines.Unquoted(string(vertex)))
			parts, err := columnsOf(form, value)
			if err != nil {
				return nil, &valueError{err}
			}
			value = []byte(strings.Join(parts, " "))
		}
		v, known := g.Labels.Find(label, g.N)
		switch {
		case !ok || !known:
			return nil, &valueError{fmt.Errorf("found a value for %.80q, which is no vertex of %s",
				vertex, g.Name)}
		case seen[v]:
			return nil, &valueError{fmt.Errorf("found two values for %.80q", vertex)}
		}
		seen[v], texts[v] = true, string(value)
		n++
	}
	if n != g.N {
		return nil, &valueError{fmt.Errorf("found %d values for %d vertices", n, g.N)}
	}
	return texts, nil
}

func (r *remoteResult) write(ctx context.Context, w io.Writer) error {
	if r.lines != nil {
		_, err := w.Write(r.lines)
		return err
	}
	_, err := r.client.Result(ctx, r.job.Id, false,
		r.metered(ctx, w, !r.job.Spec().Numbered))
	return err
}

// metered shows the progress of fetching the result. The size is unknown unless all of it is fetched.
func (r *remoteResult) metered(ctx context.Context, w io.Writer, whole bool) io.Writer {
	all := int64(0)
	if whole {
		all = int64(r.job.ResultBytes)
	}
	tell := func(done int64) { r.display.stage("fetching the result", done, all) }
	return &meteredWriter{ctx: ctx, w: w, tell: tell}
}

func (r *remoteResult) saveSet(ctx context.Context, path string, p *pick) (added int, err error) {
	if p != nil {
		p.numbered = true
	}
	write, err := p.save(r.form(r.app), func(ctx context.Context, w io.Writer) error {
		_, err := r.client.Result(ctx, r.job.Id, true, r.metered(ctx, w, true))
		return err
	})
	if err != nil {
		return 0, err
	}
	of := sets.Numbering{Fingerprint: r.job.Fingerprint, IDs: int(r.job.Ids)}
	return sets.SaveNumbered(ctx, path, of, write)
}

// form returns the format of the result of a cluster's job, even if this binary lacks the program.
func (r *remoteResult) form(a *app) resultlines.Form {
	spec := r.job.Spec()
	return resolve.ResultForm(a.programs, spec.Program, spec.Parameters, r.job.GetNamed())
}

func (r *remoteResult) figures(p *runReport, _ bool) {
	j, grid := r.job, graph.Grid{Rows: int(r.job.Rows), Columns: int(r.job.Columns)}
	p.Vertices, p.Edges, p.Directed = int(j.Vertices), int(j.Edges), j.Directed
	ran := resolve.OutcomeOfJob(j)
	p.ran(&ran, j.FinalAggregates(), record.GraphSize{Vertices: j.Vertices, Arcs: j.Arcs})
	p.SuperstepTime = r.seen.times.Seconds(ran.Supersteps, 0)
	p.LoadTime, p.RunTime, p.WriteTime = j.LoadSeconds, j.RunSeconds, j.WriteSeconds
	p.leftOut(j.Skipped)
	p.PeakRSS, p.Threads = int64(j.PeakMemory), int(j.Threads)
	p.Partitions, p.Workers, p.Grid = grid.Partitions(), len(j.Workers), grid.String()
}

func (r *remoteResult) offer() {} // the master serves the page

func (r *remoteResult) close() {}

// followed displays and records a job of a cluster.
type followed struct {
	display *progress
	id      string
	tell    *jobtrace.Observer // records the job

	mu     sync.Mutex
	began  bool   // no longer in the queue
	reason string // why it waits in the queue, or "" if other jobs are before it
	// Prints once that the job waits, because without a display a script would seem to hang.
	queued *time.Timer
}

// queuedAfter is how long a job waits before the user is told that it is in the queue.
const queuedAfter = 3 * time.Second

// ended ends the messages about the queue.
func (f *followed) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began = true
}

func (f *followed) event(e *control.JobEvent) error {
	if p := e.GetProgress(); p != nil {
		f.display.stage(p.Stage, int64(p.Done), int64(p.Total))
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell.Event(f.id, e)
	switch body := e.Body.(type) {
	case *control.JobEvent_Job:
		f.show(body.Job)
	case *control.JobEvent_Log:
		f.display.log(body.Log.Text)
	case *control.JobEvent_Stage:
		f.display.stage(body.Stage.Stage, int64(body.Stage.Done), int64(body.Stage.Total))
		if body.Stage.Note != "" {
			f.display.note(body.Stage.Note)
		}
	}
	return nil
}

// show displays the state of the job.
func (f *followed) show(j *control.Job) {
	if j.State == control.JobState_JOB_STATE_QUEUED && f.began {
		f.display.warn("job " + f.id + ": " + j.Reason)
	}
	f.began = j.State != control.JobState_JOB_STATE_QUEUED
	switch j.State {
	case control.JobState_JOB_STATE_QUEUED:
		f.display.stage("job "+f.id+" waits", 0, 0)
		f.display.note(j.Reason)
		if f.reason = j.Reason; f.queued == nil && !f.display.app.all.Quiet {
			f.queued = time.AfterFunc(queuedAfter, f.tellQueued)
		}
	case control.JobState_JOB_STATE_LOADING:
		if j.Spec().Netbench != nil { // it loads no graph
			f.display.stage("connecting the workers", 0, 0)
			return
		}
		f.display.stage("loading "+graphOf(j.Spec()), 0, 0)
	case control.JobState_JOB_STATE_RUNNING:
		f.display.stage("running "+j.Spec().Program, 0, 0)
	case control.JobState_JOB_STATE_WRITING:
		f.display.stage("gathering the result", 0, 0)
	}
}

func (f *followed) tellQueued() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.began {
		reason := cmp.Or(f.reason, "another one runs, or is before it")
		f.display.log(fmt.Sprintf("superstep: job %s is in the queue: %s", f.id, reason))
	}
}

// graphOf returns a job's graph as the value of --graph.
func graphOf(spec *job.Spec) string {
	if name := spec.Graph; name != "" {
		return control.CatalogPrefix + name
	}
	return spec.Origin()
}

// jobError is the error of a job that did not end as done.
type jobError struct{ job *control.Job }

func (e *jobError) Error() string {
	return fmt.Sprintf("job %s %s: %s", e.job.Id,
		map[bool]string{true: "was cancelled", false: "failed"}[e.cancelled()], e.job.Reason)
}

func (e *jobError) cancelled() bool { return e.job.State == control.JobState_JOB_STATE_CANCELLED }

// outcome returns the error of a job that did not end as done.
func outcome(j *control.Job) error {
	if j.State == control.JobState_JOB_STATE_DONE {
		return nil
	}
	return &jobError{j}
}
