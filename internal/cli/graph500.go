package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/jobspec"
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
}

func (a *app) graph500() *cobra.Command {
	g := &graph500Command{app: a}
	cmd := &cobra.Command{
		Use:   "graph500 --scale N",
		Short: "Run the Graph500 benchmark",
		Long: `Run the Graph500 benchmark (specification 2.0) on a Kronecker graph of
2^SCALE vertices, with the edges of the official generator. Kernel 1 builds the graph. Kernel 2
searches it breadth-first from 64 roots. With --sssp, kernel 3 finds shortest paths from them. Each
kernel is timed. Each search is validated by all five rules against the edge list.

Kernels 2 and 3 are vertex programs on the general engine. The output has the official fields in
their order. An invalid search ends the run with status 1, and the error names the rule.

With --master the benchmark is a job of a cluster. Each worker generates, builds, searches and
validates its share; num_mpi_processes is the number of workers. Ctrl-C asks whether to detach from
the job or to cancel it; outside a terminal it cancels the job. --detach submits the job and prints
its name. superstep watch prints the report.

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
	cmd.Flags().IntVar(&g.edgeFactor, "edgefactor", 16, "make `N` times as many edges as vertices")
	cmd.Flags().IntVar(&g.roots, "roots", 64, "search from `N` roots")
	cmd.Flags().Uint64Var(&g.seed1, "seed1", 2, "the generator's first `SEED`")
	cmd.Flags().Uint64Var(&g.seed2, "seed2", 3, "the generator's second `SEED`")
	cmd.Flags().BoolVar(&g.sssp, "sssp", false, "also run kernel 3, single-source shortest paths")
	cmd.Flags().BoolVar(&g.noValidate, "no-validate", false, "do not validate the results")
	g.run.define(cmd, squareOf)
	nothing(cmd, "scale", "edgefactor", "roots", "seed1", "seed2")
	g.run.cluster.defineDetach(cmd)
	return cmd
}

func (g *graph500Command) execute(ctx context.Context) error {
	err := g.run.place(g.run.cluster.wanted(g.run.flags), "runs", []string{"json", "trace"}, "run: not with --%s; superstep watch shows what comes later")
	if err != nil {
		return err
	}
	spec, err := g.spec()
	if err != nil {
		return err
	}
	if err := apart("", "--json", g.run.json, "--trace", g.run.trace); err != nil {
		return err
	}
	return g.run.perform(ctx, g.app, spec, jobspec.CheckGraph500, func(ctx context.Context, to runner, seen *observer) error {
		report, err := to.graph500(ctx, spec)
		seen.done()
		return cmp.Or(g.app.benchmarkReported(ctx, report, g.run.json, seen.meter.Lines()), err)
	})
}

// spec is the job that the command line describes.
func (g *graph500Command) spec() (*control.JobSpec, error) {
	_, err := generate.Parse(fmt.Sprintf("kronecker:scale=%d,edgefactor=%d,seed1=%d,seed2=%d", g.scale, g.edgeFactor, g.seed1, g.seed2))
	switch {
	case err != nil:
		return nil, usageError{err}
	case g.roots < 1 || g.roots > math.MaxUint32:
		return nil, usagef("--roots: found %d, expected 1 to %d", g.roots, uint32(math.MaxUint32))
	case g.edgeFactor > math.MaxUint32:
		return nil, usagef("--edgefactor: found %d, expected 1 to %d", g.edgeFactor, uint32(math.MaxUint32))
	}
	if err := g.run.limits(); err != nil {
		return nil, err
	}
	spec := &control.JobSpec{Program: control.Graph500Program, Options: g.run.options(), Graph500: &control.Graph500{
		Scale: uint32(g.scale), EdgeFactor: uint32(g.edgeFactor), Seed1: g.seed1, Seed2: g.seed2,
		Roots: uint32(g.roots), Sssp: g.sssp, Validate: !g.noValidate,
	}}
	spec.Rows, spec.Columns, err = g.run.partitions(graph.Squarest)
	return spec, err
}

// benchmarkReported prints the report of a run of Graph500, if there is one, and lines that sum it up.
func (a *app) benchmarkReported(ctx context.Context, report *graph500.Report, json string, lines []string) error {
	if report == nil {
		return nil
	}
	w := a.reportTo(json)
	if err := report.WriteText(w); err != nil {
		return err
	}
	for _, line := range lines {
		escape.Printf(w, "# over all searches, %s\n", line)
	}
	for _, issue := range graph500.SubmissionIssues(*report) {
		a.notices().say(slog.LevelInfo, "superstep: not a submission: "+issue)
	}
	return a.writeJSON(ctx, json, report)
}
