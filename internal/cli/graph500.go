package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/trace"
)

// graph500Command is `superstep graph500`.
type graph500Command struct {
	app *app
	run runFlags
	of  job.Graph500
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
validates its share; num_mpi_processes is the number of workers. Ctrl-C cancels the job. Once
it is submitted, Ctrl-\ (SIGQUIT) detaches from it. --detach submits the job and prints its name.
superstep watch prints the report.

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
				return usagef(
					"--scale is missing: the graph has 2^SCALE vertices; 20 takes some seconds")
			}
			return g.execute(cmd.Context())
		},
	}
	flagsOf(cmd, &g.of)
	g.run.define(cmd, squareOf, "seed", "max-supersteps")
	g.run.cluster.define(cmd)
	configFlag(cmd)
	rare(cmd, configName)
	return cmd
}

func (g *graph500Command) execute(ctx context.Context) error {
	err := g.run.place(g.run.cluster.wanted(g.run.flags), "json", "trace")
	if err != nil {
		return err
	}
	if _, err := resolve.Generator(&g.of); err != nil {
		return usageError{err}
	}
	spec := &job.Spec{Program: trace.Graph500, Options: g.run.options(), Graph500: &g.of}
	if spec.Rows, spec.Columns, err = g.run.partitions(graph.Squarest); err != nil {
		return err
	}
	if err := apart("", "--json", g.run.JSON, "--trace", g.run.seeFlags.Trace); err != nil {
		return err
	}
	return g.run.perform(ctx, g.app, spec, benchmark.Check,
		func(ctx context.Context, to runner, seen *observer) error {
			report, err := to.graph500(ctx, spec)
			seen.done()
			return cmp.Or(g.app.benchmarkReported(ctx, report, g.run.JSON, seen.meter.Lines()), err)
		})
}

// benchmarkReported prints the report of a Graph500 run, if there is one, with summary lines.
func (a *app) benchmarkReported(
	ctx context.Context, report *graph500.Report, json string, lines []string,
) error {
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
		a.remark("superstep: not a submission: " + issue)
	}
	return a.writeJSON(ctx, json, report)
}
