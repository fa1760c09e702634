package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// runCommand is `superstep run`.
type runCommand struct {
	app    *app
	input  inputFlags
	store  storeFlags
	run    runFlags
	graph  string
	params []string
	output string
	verify bool
	sorted bool

	cluster clientFlags
	stack   bool
}

func (a *app) runProgram() *cobra.Command {
	r := &runCommand{app: a}
	cmd := &cobra.Command{
		Use:   "run ALGORITHM --graph FILE|GENERATOR|catalog:NAME",
		Short: "Run a vertex program on a graph",
		Long: `Run a vertex program on a graph from a file or a generator, in this process or, with --master, on a cluster.

Files: edge lists (.txt, .el, .wel), Matrix Market (.mtx), LDBC Graphalytics (.v and .e), Graph500 (packed), plain or
compressed by gzip or zstd. "superstep info FILE" says what a file holds; "superstep algorithms" lists the algorithms
and their parameters; "superstep generate --help" lists the generators, whose edges have random weights, uniform in [0,1),
for a program that wants some (--unit-weights makes them 1).

On a cluster it is the workers that read a file: they must see it under the same name. --graph catalog:NAME is a graph that
"superstep graphs load" has put there. The report, --output, --json, --trace and --verify are as they are without a cluster;
--verify reads the graph here. Ctrl-C asks whether to detach from the job or to cancel it, elsewhere than on a terminal it
cancels it; --detach prints the job's name and leaves.`,
		Example: `  superstep run bfs --graph roads.mtx -p source=1 --output parents.txt
  superstep run bfs --graph web.txt.gz -p source=7 -p output=level --verify
  superstep run pagerank --graph kronecker:scale=18 -p iterations=20
  superstep run sssp --graph weighted.wel --undirected -p source=3 --output -
  superstep run wcc --graph social.el --partitions 4 --trace wcc.jsonl
  superstep run bfs --graph /data/web.el -p source=7 --master 10.0.0.1:7700 --token-file token -o parents.txt
  superstep run pagerank --graph catalog:web --detach`,
		Args: exactly(1, "the name of an algorithm"),
		ValidArgsFunction: firstOf(func(string) []string {
			var names []string
			for _, e := range a.programs {
				names = append(names, e.Name+"\t"+e.Help)
			}
			return names
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return r.execute(cmd.Context(), args[0]) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&r.graph, "graph", "g", "", "the `GRAPH`: a file, or a generator such as kronecker:scale=18")
	cmd.Flags().StringArrayVarP(&r.params, "param", "p", nil, "a parameter of the algorithm, `KEY=VALUE`; may be given again")
	cmd.Flags().StringVarP(&r.output, "output", "o", "", "write a line \"id value\" for every vertex to `FILE`, - for standard output")
	cmd.Flags().BoolVar(&r.sorted, "sorted", true, "write vertices by rising id; else by falling degree, which is faster")
	cmd.Flags().BoolVar(&r.verify, "verify", false, "check the result by a certificate, apart from the engine")
	r.input.define(cmd)
	r.store.define(cmd)
	r.run.define(cmd, columnOf)
	cmd.Flags().IntVar(&r.run.maxSupersteps, "max-supersteps", 0, "stop after `N` supersteps (default: no limit)")
	cmd.Flags().Uint64Var(&r.run.seed, "seed", 0, "`SEED` of the random numbers that a program draws (default 0)")
	nothing(cmd, "max-supersteps", "seed")
	r.cluster.defineDetach(cmd)
	cmd.Flags().BoolVar(&r.stack, "stack", false, "on a cluster: show the stack of a program that panicked")
	_ = cmd.RegisterFlagCompletionFunc("graph", r.cluster.completeAnyGraph)
	_ = cmd.RegisterFlagCompletionFunc("param", a.completeParameter)
	return cmd
}

func (r *runCommand) execute(ctx context.Context, name string) error {
	if err := r.fits(); err != nil {
		return err
	}
	// What can be wrong with the command line is found before the graph is opened: of the program and its parameters on a cluster
	// by the master, before the job is queued.
	report := &runReport{Algorithm: name, Graph: r.graph, Delivery: r.run.delivery.value}
	var err error
	if report.Parameters, err = splitParameters(r.params); err != nil {
		return err
	}
	var e engine.Registered
	graphs := "a file, a generator such as kronecker:scale=18, or catalog:NAME, a graph of the cluster"
	if !r.onCluster() {
		graphs = "a file, or a generator such as kronecker:scale=18"
		if e, err = r.program(name, report.Parameters); err != nil {
			return err
		}
	}
	if r.graph == "" {
		return usagef("--graph is missing: %s", graphs)
	}
	if err := apart(r.graph, "--output", r.output, "--json", r.run.json, "--trace", r.run.trace); err != nil {
		return err
	}
	if err := r.run.limits(); err != nil {
		return err
	}
	if r.onCluster() {
		return r.executeOnCluster(ctx, report)
	}
	grid, err := r.run.partitions(graph.Of)
	if err != nil {
		return err
	}
	team, err := r.run.team()
	if err != nil {
		return err
	}
	defer team.Close()
	if err := r.run.check(); err != nil {
		return err
	}
	progress := r.app.progress()
	defer progress.done()
	seen, err := r.run.start(r.app, team)
	if err != nil {
		return err
	}
	defer seen.close()
	progress.tell = seen
	report.Threads, report.Partitions, report.Workers, report.Grid = r.run.threads, grid.Partitions(), 1, grid.String()
	j := &runJob{
		runCommand: r, entry: e, values: report.Parameters, team: team, progress: progress, seen: seen, report: report, grid: grid,
		stored: r.store.options(),
	}
	defer j.close()
	program, err := e.New(report.Parameters, nil)
	if err == nil && r.output != "" {
		err = program.Printable()
	}
	if err == nil {
		err = engine.Rehearse(ctx, program, r.run.options(r.app, team), grid)
	}
	if err != nil {
		return usageError{err}
	}
	err = j.all(ctx)
	progress.done()
	seen.interrupted(err)
	if err == nil {
		report.PeakRSS = mem.PeakRSS()
		err = r.finish(ctx, report, &seen.meter)
	}
	if err = errors.Join(err, seen.finish()); err != nil {
		return err
	}
	seen.linger(ctx)
	return nil
}

// finish writes the report: to standard output, unless the values went there.
func (r *runCommand) finish(ctx context.Context, report *runReport, m *history.Meter) error {
	r.app.warnUnconverged(report)
	w := r.app.text(r.output, r.run.json)
	report.text(w)
	for _, line := range m.Lines() {
		fmt.Fprintln(w, line)
	}
	return r.app.writeJSON(ctx, r.run.json, report)
}

// runJob is one execution.
type runJob struct {
	*runCommand
	entry    engine.Registered
	values   map[string]string
	team     *parallel.Team
	progress stages
	seen     *sight
	report   *runReport
	grid     graph.Grid
	stored   graph.Options

	in       *edges.Input
	graph    *graph.Graph
	bound    engine.Bound
	computed computed
}

// computed is the values of all vertices: bound's, or what a cluster has sent.
type computed interface {
	Append(dst []byte, id pregel.VertexID) []byte
}

func (j *runJob) close() {
	if j.bound != nil {
		j.bound.Close()
	}
	if j.graph != nil {
		j.graph.Close()
	}
	if j.in != nil {
		j.in.Close()
	}
}

func (j *runJob) all(ctx context.Context) error {
	start := time.Now()
	if err := j.load(ctx); err != nil {
		return err
	}
	j.report.LoadTime = time.Since(start).Seconds()
	program, err := j.entry.New(j.values, j.graph.Find)
	if err != nil {
		return fmt.Errorf("%s: %w", j.graph.Name, err)
	}
	o := j.run.options(j.app, j.team)
	o.Trace, o.Job = &trace.Named{To: j.seen, Name: j.entry.Name, About: j.about}, j.entry.Name
	o.Progress = func(p bsp.Progress) { j.progress.superstep(p, int64(j.run.maxSupersteps)) }
	o.Log = j.progress.log
	if j.bound, err = program.Bind(j.graph, o); err != nil {
		return err
	}
	j.computed = j.bound
	j.progress.stage("running "+j.entry.Name, 0, 0)
	start = time.Now()
	outcome, err := j.bound.Run(ctx)
	if err != nil {
		return err
	}
	p := j.report
	p.RunTime = time.Since(start).Seconds()
	p.Supersteps, p.Converged, p.SuperstepTime = outcome.Supersteps, outcome.Converged, j.bound.Times()
	p.Messages, p.MessagesSent, p.BytesSent = outcome.Messages, outcome.Sent, outcome.Bytes
	p.Aggregators = j.bound.Final()
	if err := j.verified(ctx, outcome); err != nil {
		return err
	}
	start = time.Now()
	err = j.write(ctx)
	p.WriteTime = time.Since(start).Seconds()
	return err
}

// about says in the trace what runs on what.
func (j *runJob) about(t *trace.Job) {
	t.Program, t.Parameters, t.Graph, t.Grid = j.entry.Name, j.values, j.runCommand.graph, j.report.Grid
}

// load opens and builds the graph. The tuples are kept only if they are needed to verify the result.
func (j *runJob) load(ctx context.Context) error {
	start := time.Now()
	program, err := j.entry.New(j.values, nil)
	if err != nil {
		return err
	}
	request, err := j.input.request(j.runCommand.graph, j.team, j.progress)
	if err != nil {
		return err
	}
	o := j.stored
	o.Grid = j.grid
	o.Weights, request.IfAny = weightsFor(j.entry, program.Weights(), o.UnitWeights)
	if j.stored.Weights == edges.Float32 && o.Weights != edges.Unweighted {
		o.Weights = edges.Float32
	}
	if request.Weights = o.Weights; o.UnitWeights {
		request.Weights = edges.Unweighted
	}
	if err := writable(j.output, j.run.json, j.run.trace); err != nil {
		return err
	}
	request.Beside = func(vertices uint64, tuples int, directed bool) int64 {
		return graph.LeastBytes(vertices, tuples, directed, o)
	}
	if j.in, err = load.Open(ctx, request); err != nil {
		return err
	}
	if request.IfAny && !j.in.Edges.Weighted() {
		o.Weights = edges.Unweighted
	}
	o.Team, o.Progress = j.team, j.progress.stage
	if j.graph, err = build.Local(ctx, j.in, o); err != nil {
		return err
	}
	if err := program.Ready(ctx, j.graph, j.team); err != nil {
		return err
	}
	if !j.verify {
		j.in.Close()
	}
	j.seen.graph(j.graph, j.report.Grid, time.Since(start).Seconds())
	p := j.report
	p.Vertices, p.Edges, p.Directed = j.graph.N, j.in.Edges.Len(), j.graph.Directed
	return nil
}

// writeEvery is after how many vertices progress is told.
const writeEvery = 1 << 16

// write writes a line for every vertex.
func (j *runJob) write(ctx context.Context) error {
	if j.output == "" {
		return nil
	}
	g := j.graph
	stage, done := "writing "+j.output, new(atomic.Int64)
	j.progress.stage(stage, 0, int64(g.N))
	line := func(dst []byte, i int) []byte {
		if i%writeEvery == 0 {
			j.progress.stage(stage, done.Add(writeEvery), int64(g.N))
		}
		id := pregel.VertexID(i)
		if j.sorted {
			id = pregel.VertexID(g.IDs[i])
		}
		dst = appendUint(dst, g.Label(id))
		dst = append(dst, ' ')
		return j.computed.Append(dst, id)
	}
	fill := func(w io.Writer) error { return graphio.WriteValues(cancellable{ctx, w}, g.N, j.team, line) }
	if j.output == "-" {
		return fill(j.app.out)
	}
	return graphio.WriteFile(ctx, j.output, j.team.Size(), fill)
}

// cancellable is a writer that fails once a context ends.
type cancellable struct {
	ctx context.Context
	w   io.Writer
}

func (c cancellable) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, c.ctx.Err()
	}
	return c.w.Write(p)
}
