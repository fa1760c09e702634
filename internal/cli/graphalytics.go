package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphalytics"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// graphalyticsCommand is `superstep graphalytics`.
type graphalyticsCommand struct {
	app        *app
	run        runFlags
	Algorithms []string `flag:"algorithms" list:"," group:"run" words:"bfs,pr,wcc,cdlp,lcc,sssp" help:"run only the algorithms in {LIST}, of bfs, pr, wcc, cdlp, lcc, sssp"`
	Params     []string `flag:"param" short:"p" group:"run" help:"set {KEY=VALUE} for all graphs, such as bfs.source-vertex=1: an entry of the properties without graph.NAME.; may be repeated"`
}

func (a *app) graphalytics() *cobra.Command {
	g := &graphalyticsCommand{app: a}
	cmd := &cobra.Command{
		Use:   "graphalytics DIR",
		Short: "Run the LDBC Graphalytics benchmark on a folder of its graphs",
		Long: `Run the algorithms of LDBC Graphalytics on the graphs of a folder, in this
process, and compare the results with the reference outputs.

NAME.properties describes the graph NAME in the files NAME.v and NAME.e: which algorithms to run,
and their parameters. If the folder has no properties, its graphs are the files with -directed or
-undirected in their names: NAME.v and NAME.e, or adjacency lists in NAME-input. Then all six
algorithms run. -p sets their parameters; by default searches start at the least id, damping is
0.85, and there are 10 iterations.

The properties are checked: meta.vertices and meta.edges against the graph, and each entry for a
known key. A graph or run that fails is a row of the report; the others still run.

A reference output lies beside its graph, such as NAME-BFS. Levels and labels must be equal, and
components must be the same. Ranks, coefficients and distances may differ by one in 10,000. The
processing time is the time of the algorithm. The makespan also has the loading. EPS is edges
divided by processing time, EVPS edges and vertices divided by processing time.`,
		Example: `  superstep graphalytics graphs
  superstep graphalytics graphs --algorithms bfs,wcc --partitions 4 --json report.json
  superstep graphalytics examples -p pr.num-iterations=2 -p cdlp.max-iterations=2`,
		Args: exactly(1, "the folder of the graphs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.execute(cmd.Context(), args[0])
		},
	}
	flagsOf(cmd, g)
	g.run.define(cmd, columnOf, "seed", "max-supersteps")
	return cmd
}

// trial is a run of one algorithm on one graph.
type trial struct {
	spec *job.Spec
	graphalytics.Run
	graph  *graphalytics.Graph
	report graphalyticsRun
	failed error // why it cannot be run, or nil
}

// graphalyticsReport is the output of --json.
type graphalyticsReport struct {
	Threads    int               `json:"threads"`
	Partitions int               `json:"partitions"`
	Runs       []graphalyticsRun `json:"runs"`
}

// graphalyticsRun is a run in the report. Times are in seconds.
type graphalyticsRun struct {
	Graph          string            `json:"graph"`
	Algorithm      string            `json:"algorithm"`
	Parameters     map[string]string `json:"parameters"`
	Vertices       int               `json:"vertices"`
	Edges          int               `json:"edges"`
	LoadTime       float64           `json:"load_time"`
	Makespan       float64           `json:"makespan"`
	ProcessingTime float64           `json:"processing_time"`
	EPS            float64           `json:"eps"`
	EVPS           float64           `json:"evps"`
	Validated      *bool             `json:"validated"` // null if there is no reference output
	Mismatch       string            `json:"mismatch,omitempty"`
	// Why there is no result, or none to compare with.
	Error string `json:"error,omitempty"`
}

func (g *graphalyticsCommand) execute(ctx context.Context, dir string) error {
	for _, a := range g.Algorithms {
		if !slices.Contains(graphalytics.Algorithms, a) {
			return usagef("--algorithms: found %q, expected some of %s", a,
				strings.Join(graphalytics.Algorithms, ", "))
		}
	}
	if err := apart(dir, "--json", g.run.JSON, "--trace", g.run.seeFlags.Trace); err != nil {
		return err
	}
	grid := &job.Spec{}
	var err error
	if grid.Rows, grid.Columns, err = g.run.partitions(graph.Of); err != nil {
		return err
	}
	trials, err := g.trials(dir, grid)
	if err != nil {
		return err
	}
	check := func(programs engine.Registry, _ *job.Spec, grid graph.Grid) error {
		for _, t := range trials {
			if t.failed != nil {
				continue
			}
			if err := resolve.CheckProgram(programs, t.spec, grid); err != nil {
				return fmt.Errorf("%s on %s: %w", t.report.Algorithm, t.report.Graph, err)
			}
		}
		return nil
	}
	return g.run.perform(ctx, g.app, grid, check,
		func(ctx context.Context, to runner, seen *observer) error {
			report, wrong, failed := &graphalyticsReport{}, 0, 0
			for i := range trials {
				t := &trials[i]
				err := t.perform(ctx, to, report)
				switch {
				case ctx.Err() != nil:
					return err
				case err != nil: // continue with the other runs
					t.report.Error = oneLine(err)
					failed++
				case t.report.Mismatch != "":
					wrong++
				}
				report.Runs = append(report.Runs, t.report)
			}
			seen.done()
			report.text(g.app.reportTo(g.run.JSON))
			if err := g.app.writeJSON(ctx, g.run.JSON, report); err != nil || wrong+failed == 0 {
				return err
			}
			text := graphio.Counted(wrong, "result is", "results are") +
				" not as the reference outputs have it"
			if failed > 0 {
				text = graphio.Counted(failed, "run is", "runs are") +
					" without a result to compare, and " + text
			}
			return errors.New(text)
		})
}

// trials returns the runs to do in a grid, graph by graph.
func (g *graphalyticsCommand) trials(dir string, grid *job.Spec) ([]trial, error) {
	given := map[string]string{}
	for _, p := range g.Params {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usagef("-p %s: expected key=value", p)
		}
		if err := graphalytics.Known(key); err != nil {
			return nil, usagef("-p %s: %w", p, err)
		}
		given[key] = value
	}
	graphs, err := graphalytics.Find(dir, given)
	if err != nil {
		return nil, err
	}
	var all []trial
	for i := range graphs {
		in := &graphs[i]
		// the algorithms are unknown, so all of them make one row
		if in.Err != nil && len(in.Algorithms) == 0 {
			all = append(all,
				trial{report: graphalyticsRun{Graph: in.Name, Algorithm: "-"}, failed: in.Err})
		}
		for _, a := range graphalytics.Algorithms {
			if !slices.Contains(in.Algorithms, a) || g.Algorithms != nil &&
				!slices.Contains(g.Algorithms, a) {
				continue
			}
			run := graphalyticsRun{Graph: in.Name, Algorithm: a}
			t := trial{graph: in, report: run, failed: in.Err}
			if t.failed == nil {
				t.Run, t.failed = in.Run(a)
			}
			if t.failed != nil {
				all = append(all, t)
				continue
			}
			t.report.Parameters = t.Parameters
			t.spec = &job.Spec{
				Program: t.Program, Parameters: t.Parameters, Rows: grid.Rows,
				Columns: grid.Columns, KeepResult: true, Unsorted: true, Options: g.run.options(),
			}
			input := &sourceFlags{Source: job.Source{Format: in.Format}}
			if in.Directed != nil {
				input.AsDirected, input.AsUndirected = *in.Directed, !*in.Directed
			}
			if t.spec.Source, err = input.toLoad(in.Path, false); err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: found no graph for the algorithms %s", dir,
			strings.Join(g.Algorithms, ", "))
	}
	return all, nil
}

// perform runs a trial and compares its result with the reference.
func (t *trial) perform(ctx context.Context, to runner, report *graphalyticsReport) error {
	if t.failed != nil {
		return t.failed
	}
	began := time.Now()
	computed, err := to.program(ctx, t.spec, false)
	if err != nil {
		return err
	}
	defer computed.close()
	r := &t.report
	r.Makespan = time.Since(began).Seconds()
	var figures runReport
	computed.figures(&figures, false)
	report.Threads, report.Partitions = figures.Threads, figures.Partitions
	r.Vertices, r.Edges, r.LoadTime, r.ProcessingTime = figures.Vertices, figures.Edges,
		figures.LoadTime, figures.RunTime
	r.EPS = float64(r.Edges) / r.ProcessingTime
	r.EVPS = float64(r.Vertices+r.Edges) / r.ProcessingTime
	if err := t.graph.Loaded(r.Vertices, r.Edges); err != nil {
		return err
	}
	if t.Reference != "" {
		match, err := graphalytics.NewMatch(t.Rule, t.Reference)
		if err != nil {
			return err
		}
		if err := computed.write(ctx, match); err != nil {
			return err
		}
		err = match.Finish()
		if err != nil && !errors.As(err, new(*graphalytics.Mismatch)) {
			return err
		}
		validated := err == nil
		if r.Validated = &validated; err != nil {
			r.Mismatch = err.Error()
		}
	}
	return nil
}

// text prints the report as a table.
func (p *graphalyticsReport) text(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table,
		"graph\talgorithm\tvertices\tedges\tload s\tmakespan s\tprocessing s\tEPS\tEVPS\tvalidated\t")
	for _, r := range p.Runs {
		validated := "no reference"
		if r.Validated != nil {
			validated = map[bool]string{true: "yes", false: "NO"}[*r.Validated]
		}
		if r.Error != "" {
			validated = "failed"
		}
		escape.Printf(table, "%s\t%s\t%d\t%d\t%.3f\t%.3f\t%.6f\t%.4g\t%.4g\t%s\t\n", r.Graph,
			r.Algorithm, r.Vertices, r.Edges,
			r.LoadTime, r.Makespan, r.ProcessingTime, r.EPS, r.EVPS, validated)
	}
	table.Flush()
	for _, r := range p.Runs {
		if why := cmp.Or(r.Error, r.Mismatch); why != "" {
			escape.Printf(w, "%s on %s: %s\n", r.Algorithm, r.Graph, why)
		}
	}
	fmt.Fprintf(w, "%s, %s\n", graphio.Counted(p.Threads, "thread"),
		graphio.Counted(p.Partitions, "partition"))
}
