package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/sets"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// local runs jobs in this process.
type local struct {
	app   *app
	flags *runFlags
	seen  *observer
}

// options returns the engine's options for a job that was checked.
func (l *local) options(spec *job.Spec, team *parallel.Team) (engine.Options, error) {
	o, err := resolve.Options(spec.Options)
	o.Team, o.Late = team, l.app.late
	return o, err
}

func (l *local) graph500(ctx context.Context, spec *job.Spec) (*graph500.Report, error) {
	team := l.flags.team()
	defer team.Close()
	s := spec.Graph500
	c := graph500.LocalConfig{
		Config: graph500.Config{
			Roots: int(s.Roots), SSSP: s.SSSP, Validate: !s.NoValidate, Grid: specGrid(spec),
			Team: team, Progress: l.seen.stage,
		},
		BFS: l.app.programs.New("bfs"),
	}
	var err error
	if c.Generator, err = resolve.Generator(s); err != nil {
		return nil, err
	}
	if c.Engine, err = l.options(spec, team); err != nil {
		return nil, err
	}
	var failed error // an error of recording
	c.Tell = func(stage string, done, total int, search *trace.Search) {
		if search == nil {
			if stage != graph500.Constructing { // which the rank tells in more detail
				l.seen.stage(stage, int64(done), int64(total))
			}
			return
		}
		failed = cmp.Or(failed, l.seen.Record(search))
		l.seen.note(graph500.Note(stage, done, total, search))
	}
	c.Engine.Trace = l.seen
	report, err := graph500.Run(ctx, c)
	return report, cmp.Or(err, failed)
}

func (l *local) netbench(ctx context.Context, spec *job.Spec) (*netbench.Report, error) {
	o := resolve.Netbench(spec.Netbench)
	o.Raw = "127.0.0.1:0"
	o.Progress = func(stage string, done, all int) { l.seen.stage(stage, int64(done), int64(all)) }
	report, err := netbench.Local(ctx, l.flags.Workers, o)
	if err != nil {
		return nil, fmt.Errorf("netbench: %w", err)
	}
	return report, nil
}

// localResult is the result of a program that ran in this process.
type localResult struct {
	*loaded
	seen              *observer
	bound             *engine.Job
	fields            []resultlines.Field
	outcome           *bsp.Outcome
	loadTime, runTime time.Duration
	kept              *kept // nil without checkpoints
	done              bool  // the result is stored
}

func (l *local) program(ctx context.Context, spec *job.Spec, verify bool) (_ result, err error) {
	began := time.Now()
	r := &localResult{seen: l.seen}
	if r.loaded, err = l.flags.load(ctx, l.seen, spec, spec.Source, specGrid(spec)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if !verify {
		r.in.Close() // the edges
	}
	r.loadTime = time.Since(began)
	grid := specGrid(spec).String()
	if page, g := l.seen.local, r.graph; page != nil {
		page.AddGraph(web.Graph{
			Name: g.Name, State: "loaded", Vertices: uint64(g.N), Arcs: g.Arcs,
			Directed: g.Directed, Bytes: g.Bytes(), Partitions: len(g.Parts), Grid: grid,
			Seconds: r.loadTime.Seconds(),
		})
	}
	parameters, err := sets.Parameters(ctx, r.graph, r.entry.Parameters, spec.Parameters,
		r.progress.log)
	if err != nil {
		return nil, err
	}
	program, err := r.entry.New(parameters, r.graph.Find)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.graph.Name, err)
	}
	r.fields = program.Fields()
	o, err := l.options(spec, r.team)
	if err != nil {
		return nil, err
	}
	o.Job, o.Log, o.Summary = spec.Program, l.seen.log, true
	named := &trace.Named{To: l.seen, Name: spec.Program, About: func(t *trace.Job) {
		t.Program, t.Parameters, t.Graph, t.Grid = spec.Program, spec.Parameters, spec.Source.Input,
			grid
		t.Defaults = resolve.Defaults(l.app.programs)(spec.Program, spec.Parameters)
	}}
	o.Trace = named
	keep := &l.flags.keep
	if r.kept, err = keep.keep(ctx, l.app, &o, spec, int64(r.graph.N)*checkpoint.BytesOfVertex,
		l.seen.warn); err != nil {
		return nil, err
	}
	o.From = keep.from
	since := time.Now()
	if o.From != nil {
		if before, first := history.Before(o.From.Account); !first.IsZero() {
			since, named.Before = first, before.Times.Total
			about := named.About
			named.About = func(t *trace.Job) { about(t); t.Before, t.Began = o.From.Account, first }
		}
	}
	o.Account = func() json.RawMessage { return l.seen.meter.Account(since) }
	if r.bound, err = program.Bind(ctx, r.graph, o); err != nil {
		return nil, err
	}
	if err := fillColumns(ctx, r.bound, r.graph, l.flags.columns, l.seen.warn); err != nil {
		return nil, err
	}
	l.seen.stage("running "+spec.Program, 0, 0)
	began = time.Now()
	running, release := o.Checkpoints.Linger(ctx)
	defer release()
	r.outcome, err = r.bound.Run(running)
	r.runTime = time.Since(began) - r.bound.SummaryTime() +
		time.Duration(named.Before*float64(time.Second))
	return r, err
}

func (r *localResult) verify(ctx context.Context) error {
	defer r.in.Close() // no longer needed
	text := func(dst []byte, v int) []byte {
		return r.bound.Append(dst, pregel.VertexID(r.graph.IDs[v]))
	}
	return r.certify(ctx, text, false, r.outcome.Supersteps, r.outcome.Ended, r.bound.Final())
}

// writeEvery is the number of vertices between reports of progress.
const writeEvery = 1 << 16

func (r *localResult) write(ctx context.Context, w io.Writer) error {
	n, done := int64(r.bound.IDs()), new(atomic.Int64)
	r.progress.stage("writing", 0, n)
	return r.lines(ctx, w, r.team,
		func(more int64) { r.progress.stage("writing", done.Add(more), n) })
}

// offer shows the result. It does not use the run's threads, which may still be in use.
func (r *localResult) offer() {
	name := r.spec.Program
	r.seen.offer(name, r.form(r.seen.app), func(ctx context.Context, w io.Writer) error {
		return bsp.Contain(name, &bsp.NoSuperstep,
			func() error { return r.lines(ctx, w, nil, func(int64) {}) })
	})
}

// lines writes the lines of all vertices, with a team or, if it is nil, without. It reports
// progress every writeEvery vertices. Several goroutines may call it with different teams until
// close.
func (r *localResult) lines(
	ctx context.Context, w io.Writer, team *parallel.Team, tell func(more int64),
) error {
	g := r.graph
	return graphio.WriteValues(ctx, &meteredWriter{ctx, w, 0, func(int64) {}}, int(r.bound.IDs()),
		team, func(dst []byte, i int) []byte {
			if i%writeEvery == 0 {
				tell(writeEvery)
			}
			id := pregel.VertexID(i)
			if !r.spec.Unsorted && i < g.N { // added vertices have the largest input ids
				id = pregel.VertexID(g.IDs[i])
			}
			if !r.bound.Exists(id) {
				return dst
			}
			if g.Names != nil {
				dst = append(graphio.AppendField(dst,
					func(dst []byte) []byte { return g.AppendName(dst, r.bound.Label(id)) }), '\t')
				return r.bound.AppendAs(dst, id, r.bound.Label, g.AppendName)
			}
			dst = append(strconv.AppendUint(dst, r.bound.Label(id), 10), ' ')
			return r.bound.Append(dst, id)
		})
}

func (r *localResult) saveSet(ctx context.Context, path string, p *pick) (added int, err error) {
	write, err := p.save(r.form(nil), r.write)
	if err != nil {
		return 0, err
	}
	return sets.Save(ctx, path, r.graph, r.form(nil), write)
}

func (r *localResult) form(*app) resultlines.Form {
	return resultlines.Form{Named: r.graph.Names != nil, Fields: r.fields}
}

func (r *localResult) figures(p *runReport, written bool) {
	r.done = written && r.outcome.Ended.Complete()
	p.Vertices, p.Edges, p.Directed = r.graph.N, r.graph.Tuples, r.graph.Directed
	p.ran(r.outcome, r.bound.Final(),
		record.GraphSize{Vertices: uint64(r.graph.Vertices()), Arcs: r.graph.Arcs})
	p.SuperstepTime = r.bound.Times()
	p.leftOut(r.in.Skipped)
	p.LoadTime, p.RunTime, p.PeakRSS = r.loadTime.Seconds(), r.runTime.Seconds(), mem.PeakRSS()
	grid := specGrid(r.spec)
	p.Threads, p.Partitions, p.Workers, p.Grid = r.team.Size(), grid.Partitions(), 1, grid.String()
	p.Checkpoints = r.kept.settle(r.done)
}

func (r *localResult) close() {
	if r.bound != nil {
		r.bound.Close()
	}
	r.kept.end(r.done)
	if r.loaded != nil {
		r.loaded.close()
	}
}

// loaded is a graph in this process, for running a program or verifying a result.
type loaded struct {
	progress *progress
	name     string
	spec     *job.Spec
	entry    engine.Registered
	team     *parallel.Team
	in       *edges.Input
	graph    *graph.Graph
	columns  []columnFile
}

// load opens and builds the graph for a job's program.
func (f *runFlags) load(
	ctx context.Context, p *observer, spec *job.Spec, source *job.Source, grid graph.Grid,
) (_ *loaded, err error) {
	l := &loaded{progress: p.progress, name: source.Input, spec: spec, columns: f.columns}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.entry, err = p.app.program(spec.Program); err != nil {
		return nil, err
	}
	program, err := l.entry.New(resolve.BeforeLoading(l.entry.Parameters, spec.Parameters, source),
		nil)
	if err != nil {
		return nil, err
	}
	if err := checkColumns(program, f.columns); err != nil {
		return nil, err
	}
	if source, err = resolve.Weighted(source, l.entry, spec.Parameters); err != nil {
		return nil, err
	}
	l.team = f.team()
	l.graph, l.in, err = buildGraph(ctx, p.progress, source, grid, l.team)
	return l, err
}

// buildGraph opens and builds a graph in this process.
func buildGraph(
	ctx context.Context, p *progress, source *job.Source, grid graph.Grid, team *parallel.Team,
) (*graph.Graph, *edges.Input, error) {
	request, o, err := load.From(source)
	if err != nil {
		return nil, nil, err
	}
	request.Team, request.Progress = team, p.stage
	o.Team, o.Progress, o.Grid = team, p.stage, grid
	request.Beside = func(vertices uint64, tuples int, directed bool) int64 {
		return graph.LeastBytes(vertices, tuples, directed, o)
	}
	g, in, err := load.Build(ctx, request, o)
	if err != nil {
		return nil, nil, err
	}
	p.found(in.Notes)
	return g, in, nil
}

func (l *loaded) close() {
	l.in.Close()
	l.graph.Close()
	l.team.Close()
}
