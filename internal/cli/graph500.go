package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/history"
)

// graph500Command is `superstep graph500`.
type graph500Command struct {
	app          *app
	run          runFlags
	scale        int
	edgeFactor   int
	roots        int
	seed1, seed2 uint64
	sssp         bool
	noValidate   bool

	cluster clientFlags
}

func (a *app) graph500() *cobra.Command {
	g := &graph500Command{app: a}
	cmd := &cobra.Command{
		Use:   "graph500 --scale N",
		Short: "Run the Graph500 benchmark",
		Long: `Run the Graph500 benchmark (specification 2.0): a Kronecker graph of 2^SCALE vertices, the same edges as the official
generator's; kernel 1 builds the graph, timed; kernel 2 searches it breadth-first from 64 roots, each search timed, and
its tree then validated by all five rules against the edge list. With --sssp kernel 3, shortest paths, does the same.

Kernels 2 and 3 are vertex programs on the general engine. The output has the official fields in their order. A search
that is not valid ends the run with status 1 and says which rule it broke.

With --master the benchmark is a job of a cluster: every worker makes, builds, searches and validates its share, and
num_mpi_processes is how many workers there are. Ctrl-C asks whether to detach from the job or to cancel it, elsewhere than
on a terminal it cancels it; --detach prints the job's name and leaves, superstep watch prints the report.

Memory: about 16 bytes times 2^SCALE times the edge factor; SCALE 22 takes 1.1 GB, SCALE 25 9 GB.`,
		Example: `  superstep graph500 --scale 20
  superstep graph500 --scale 22 --json result.json --trace supersteps.jsonl
  superstep graph500 --scale 18 --sssp --roots 16
  superstep graph500 --scale 18 --partitions 4 --delivery pull
  superstep graph500 --scale 18 --grid 3x2
  superstep graph500 --scale 24 --sssp --master 10.0.0.1:7700 --token-file token`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("scale") {
				return usagef("--scale is missing: the graph has 2^SCALE vertices; 20 takes some seconds")
			}
			return g.execute(cmd.Context())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&g.scale, "scale", 0, "make a graph of 2^`SCALE` vertices")
	cmd.Flags().IntVar(&g.edgeFactor, "edgefactor", 16, "with `N` times as many edges")
	cmd.Flags().IntVar(&g.roots, "roots", 64, "search from `N` roots")
	cmd.Flags().Uint64Var(&g.seed1, "seed1", 2, "the generator's first `SEED`")
	cmd.Flags().Uint64Var(&g.seed2, "seed2", 3, "the generator's second `SEED`")
	cmd.Flags().BoolVar(&g.sssp, "sssp", false, "run kernel 3, single-source shortest paths, too")
	cmd.Flags().BoolVar(&g.noValidate, "no-validate", false, "do not validate the results")
	g.run.define(cmd, squareOf)
	nothing(cmd, "scale", "edgefactor", "roots", "seed1", "seed2")
	g.cluster.defineDetach(cmd)
	return cmd
}

func (g *graph500Command) execute(ctx context.Context) error {
	onCluster := g.cluster.wanted(g.run.flags)
	err := g.cluster.fits(g.run.flags, onCluster, "runs", []string{"json", "trace"}, "run: not with --%s; superstep watch shows what comes later")
	if err != nil {
		return err
	}
	text := fmt.Sprintf("kronecker:scale=%d,edgefactor=%d,seed1=%d,seed2=%d", g.scale, g.edgeFactor, g.seed1, g.seed2)
	generator, err := generate.Parse(text)
	if err != nil {
		return usageError{err}
	}
	if err := apart("", "--json", g.run.json, "--trace", g.run.trace); err != nil {
		return err
	}
	if g.roots < 1 || g.roots > math.MaxUint32 {
		return usagef("--roots: found %d, expected 1 to %d", g.roots, uint32(math.MaxUint32))
	}
	if err := g.run.limits(); err != nil {
		return err
	}
	if g.edgeFactor > math.MaxUint32 {
		return usagef("--edgefactor: found %d, expected 1 to %d", g.edgeFactor, uint32(math.MaxUint32))
	}
	if onCluster {
		return g.executeOnCluster(ctx, generator.(generate.Kronecker))
	}
	grid, err := g.run.partitions(graph.Squarest)
	if err != nil {
		return err
	}
	team, err := g.run.team()
	if err != nil {
		return err
	}
	defer team.Close()
	if err := errors.Join(writable(g.run.json, g.run.trace), g.run.check()); err != nil {
		return err
	}
	bfs, err := g.app.program("bfs")
	if err != nil {
		return err
	}
	config := graph500.LocalConfig{
		Config: graph500.Config{
			Generator: generator.(generate.Kronecker), Roots: g.roots, SSSP: g.sssp, Validate: !g.noValidate, Grid: grid, Team: team,
		},
		BFS: bfs.New, Engine: g.run.options(g.app, team),
	}
	if err := config.Check(ctx); err != nil {
		return usageError{err}
	}
	progress := g.app.progress()
	defer progress.done()
	seen, err := g.run.start(g.app, team)
	if err != nil {
		return err
	}
	defer seen.close()
	config.Engine.Trace, progress.tell = seen, seen
	config.Progress, config.Note = progress.stage, progress.note
	report, err := graph500.Run(ctx, config)
	progress.done()
	seen.interrupted(err)
	err = errors.Join(err, seen.finish())
	var broken *validate.Violation
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	if e := g.app.benchmarkReported(ctx, report, g.run.json, seen.meter.Lines()); e != nil {
		return e
	}
	if err == nil {
		seen.linger(ctx)
	}
	return err
}

// executeOnCluster submits the benchmark as a job, waits for it and prints its report.
func (g *graph500Command) executeOnCluster(ctx context.Context, generator generate.Kronecker) error {
	spec := &control.JobSpec{
		Program: control.Graph500Program,
		Graph500: &control.Graph500{
			Scale: uint32(generator.Scale), EdgeFactor: uint32(generator.EdgeFactor), Seed1: generator.Seed1, Seed2: generator.Seed2,
			Roots: uint32(g.roots), Sssp: g.sssp, Validate: !g.noValidate,
		},
		Options: g.run.remote(),
	}
	var err error
	if spec.Rows, spec.Columns, err = g.run.clusterGrid(graph.Squarest); err != nil {
		return err
	}
	if err := g.cluster.awaited(g.run.flags, g.run.workers); err != nil {
		return err
	}
	if err := writable(g.run.json, g.run.trace); err != nil {
		return err
	}
	return g.cluster.wait(ctx, g.app, func(ctx context.Context, w *waiting) error {
		f := &followed{whole: g.run.trace != ""}
		f.tell, f.finish = g.run.tellJob(new(history.Meter))
		job, err := w.job(ctx, spec, f, g.cluster.detach)
		if job == nil || err != nil {
			return err
		}
		w.display.done()
		return g.app.benchmarkEnded(ctx, job, g.run.json)
	})
}

// benchmarkEnded prints the report of a job of Graph500 that is done, or whose last search was not valid, and returns an
// error unless it is done.
func (a *app) benchmarkEnded(ctx context.Context, job *control.Job, json string) error {
	err := outcome(job, false)
	if err != nil && job.GetGraph500().GetViolation() == nil {
		return err
	}
	if e := a.benchmarkReported(ctx, benchmarkReport(job), json, nil); e != nil {
		return e
	}
	return err
}

// benchmarkReported prints the report of a run of Graph500, and lines that sum it up.
func (a *app) benchmarkReported(ctx context.Context, report *graph500.Report, json string, lines []string) error {
	w := a.text(json)
	if err := report.WriteText(w); err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintf(w, "# over all searches, %s\n", line)
	}
	for _, issue := range graph500.SubmissionIssues(*report) {
		a.notices().say(slog.LevelInfo, "superstep: not a submission: "+issue)
	}
	return a.writeJSON(ctx, json, report)
}

// benchmarkReport is the report of a job of Graph500.
func benchmarkReport(job *control.Job) *graph500.Report {
	spec, result := job.Spec.GetGraph500(), job.GetGraph500()
	r := &graph500.Report{
		Scale: int(spec.GetScale()), EdgeFactor: int(spec.GetEdgeFactor()), Seeds: [2]uint64{spec.GetSeed1(), spec.GetSeed2()},
		Processes: len(job.Workers), Generation: result.GetGeneration(), Construction: result.GetConstruction(), Roots: result.GetRoots(),
		BFS: kernelOf(result.GetBfs()), SSSP: kernelOf(result.GetSssp()),
		Threads: int(job.Threads), Partitions: int(job.Rows * job.Columns), Rows: int(job.Rows), Columns: int(job.Columns), PeakRSS: int64(job.PeakMemory),
	}
	if spec.GetValidate() {
		valid := result.GetViolation() == nil
		r.Valid = &valid
	}
	return r
}

func kernelOf(k *control.KernelResult) graph500.Kernel {
	nedge := make([]int64, len(k.GetNedge()))
	for i, n := range k.GetNedge() {
		nedge[i] = int64(n)
	}
	return graph500.Kernel{Time: k.GetTime(), Translate: k.GetTranslate(), Nedge: nedge, Validate: k.GetValidate()}
}
