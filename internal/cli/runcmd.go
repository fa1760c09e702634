package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// runCommand is `superstep run`.
type runCommand struct {
	app    *app
	input  sourceFlags
	run    runFlags
	asked  askedFlags
	result resultFlags
	pick   pickFlags
}

// askedFlags select what is run.
type askedFlags struct {
	Graph  graphValue `flag:"graph" short:"g" group:"input" help:"the {GRAPH}: a file, several (a directory, 'parts/*.csv', a.csv,b.csv; may be repeated), - for standard input, or a generator such as kronecker:scale=18"`
	Params []string   `flag:"param" short:"p" group:"run" help:"set a parameter of the algorithm: {KEY=VALUE}; may be repeated"`
	Column []string   `flag:"column" group:"input" help:"fill the program's column NAME from a file: {NAME=FILE}, with lines \"id value\" as --output writes them, or \"from to value\" for a column of edges. NAME=FILE:N takes column N of the file, FILE.csv:COLUMN a column of a table, FILE.csv:ID,COLUMN and FILE.csv:FROM,TO,COLUMN also name the ids, FILE.v:COLUMN and FILE.e:COLUMN take a column that FILE.properties names; may be repeated. A column without a file has zeros"`
}

// resultFlags are the flags for the result.
type resultFlags struct {
	Output string `flag:"output" short:"o" group:"output" help:"write a line \"id value\" for every vertex to {FILE}, - for standard output"`
	resultFormat
	Sorted  bool   `flag:"sorted" group:"output,more" default:"true" help:"write vertices by rising id; --sorted=false writes them by falling degree, which is faster"`
	SaveSet string `flag:"save-set" group:"output,more" help:"write the vertices, of --select, --top or --bottom if given, as a vertex set to {FILE}"`
	Verify  bool   `flag:"verify" group:"output" help:"check the result independently of the engine"`
}

func (a *app) runProgram() *cobra.Command {
	r := &runCommand{app: a}
	cmd := &cobra.Command{
		Use:   "run ALGORITHM --graph FILE|GENERATOR|catalog:NAME",
		Short: "Run a vertex program on a graph",
		Long: `Run a vertex program on a graph from a file or a generator, in this process
or, with --master, on a cluster.

Files: edge lists (.txt, .el, .wel), tables of edges (.csv, .tsv, .jsonl, .parquet), whose vertices
may be names, Matrix Market (.mtx), LDBC Graphalytics (.v and .e), Graph500 (packed), DIMACS (.gr,
.col), METIS (.graph), GraphML, GAPBS (.sg, .wsg) and others (--format). Text may be compressed by
gzip or zstd. "superstep info FILE" describes a file. "superstep algorithms" lists the algorithms,
their parameters and columns. "superstep generate --help" lists the generators. Edges of a
generator have random weights, uniform in [0,1), if the program needs weights; --unit-weights makes
them 1.

On a cluster the workers read the file, so it must have the same name on all of them. --graph
catalog:NAME is a graph that "superstep graphs load" loaded there. The report, --output, --json,
--trace and --verify are the same as without a cluster. This process reads the files of --column,
--within and set:FILE, and for --verify the graph. Ctrl-C cancels the job. Once it is submitted,
Ctrl-\ (SIGQUIT) detaches from it. --detach submits the job and prints its name.`,
		Example: `  superstep run bfs --graph roads.mtx -p source=1 --output parents.txt
  superstep run bfs --graph web.txt.gz -p source=7 -p output=level --verify
  superstep run pagerank --graph kronecker:scale=18 -p iterations=20
  superstep run pagerank --graph follows.csv --source-column follower --target-column followed --top 10
  superstep run sssp --graph weighted.wel --undirected -p source=3 --output -
  superstep run pagerank --graph 'parts/*.csv.gz' --skip-bad 100 --bad-file bad.txt
  superstep run wcc --graph social.el --partitions 4 --trace wcc.jsonl
  superstep run bfs --graph /data/web.el -p source=7 --master 10.0.0.1:7700 --token-file token -o parents.txt
  superstep run pagerank --graph catalog:web --detach
  superstep run pagerank --graph catalog:web -p iterations=500 --checkpoint-every 50 --master 10.0.0.1:7700
  mine run groups --graph web.txt.gz --column rank=ranks.txt
  mine run groups --graph follows.csv --vertices people.csv --column age=people.csv:age`,
		Args:              exactly(1, "the name of an algorithm"),
		ValidArgsFunction: firstOf(a.completeAlgorithm),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.execute(cmd.Context(), args[0])
		},
	}
	flagsOf(cmd, &r.asked)
	flagsOf(cmd, &r.result)
	flagsOf(cmd, &r.pick)
	r.input.define(cmd)
	r.run.define(cmd, columnOf)
	flagsOf(cmd, &r.run.keep)
	r.run.cluster.define(cmd)
	configFlag(cmd)
	rare(cmd, configName)
	_ = cmd.RegisterFlagCompletionFunc("graph", r.run.cluster.completeAnyGraph)
	_ = cmd.RegisterFlagCompletionFunc("param", a.completeParameter)
	return cmd
}

func (r *runCommand) execute(ctx context.Context, name string) error {
	onCluster := r.run.cluster.wanted(r.run.flags) ||
		strings.HasPrefix(string(r.asked.Graph), control.CatalogPrefix)
	err := r.run.place(onCluster, "output", "output-format", "top", "bottom", "by",
		"select", "json", "save-set",
		"trace", "verify")
	if err != nil {
		return err
	}
	spec, err := r.spec(ctx, name)
	if err != nil {
		return err
	}
	if r.run.columns, err = splitColumns(r.asked.Column); err != nil {
		return err
	}
	return r.perform(ctx, spec)
}

// perform runs the job and writes its result.
func (r *runCommand) perform(ctx context.Context, spec *job.Spec) error {
	for _, c := range r.run.columns {
		if err := apart("", "--column "+c.name, c.path, "--output", r.result.Output, "--save-set",
			r.result.SaveSet); err != nil {
			return err
		}
	}
	if err := apart(string(r.asked.Graph), "--bad-file", r.input.BadFile, "--within",
		r.input.Part, "--output", r.result.Output, "--save-set", r.result.SaveSet, "--json",
		r.run.JSON, "--trace", r.run.seeFlags.Trace); err != nil {
		return err
	}
	picked, err := r.pick.check()
	if !r.pick.wanted() {
		picked = nil
	}
	spec.Numbered = r.result.SaveSet != "" && r.run.onCluster
	spec.KeepResult = spec.KeepResult || spec.Numbered
	if err == nil {
		err = r.result.check(r.result.Output)
	}
	if err != nil {
		return err
	}
	given := spec.Parameters
	return r.run.perform(ctx, r.app, spec, r.check,
		func(ctx context.Context, to runner, seen *observer) error {
			computed, err := to.program(ctx, spec, r.result.Verify)
			if err != nil {
				return err
			}
			computed.offer()
			defer seen.after(computed.close)
			report := &runReport{
				Algorithm: spec.Program, Parameters: given,
				Graph: string(r.asked.Graph), Within: r.input.Part, Delivery: cmp.Or(spec.Delivery, "auto"),
			}
			if r.result.Verify {
				if err := computed.verify(ctx); err != nil {
					return err
				}
				report.Verified = &r.result.Verify
			}
			began := time.Now()
			path, form := r.result.Output, computed.form(r.app)
			if picked != nil && r.result.SaveSet == "" {
				path = cmp.Or(path, "-")
			}
			write, err := picked.save(form, computed.write)
			if err != nil {
				return err
			}
			if err := r.app.save(ctx, path, 0o666, r.run.Threads,
				r.result.save(path, form, write)); err != nil {
				return err
			}
			if r.result.SaveSet != "" {
				added, err := computed.saveSet(ctx, r.result.SaveSet, picked)
				if err != nil {
					return fmt.Errorf("--save-set: %w", err)
				}
				if added > 0 {
					seen.warn(fmt.Sprintf("%s: without %s that the run added: sets have vertices of the graph as loaded",
						r.result.SaveSet, graphio.Counted(added, "vertex")))
				}
			}
			computed.figures(report, true)
			report.zeros = r.zeros(spec)
			if path != "" {
				report.fields = form.Names()
			}
			if err := r.app.leftOut(ctx, r.input.BadFile, report.skipped); err != nil {
				return err
			}
			report.WriteTime += time.Since(began).Seconds()
			seen.done()
			r.app.reported(r.app.reportTo(path, r.run.JSON), report, seen.meter.Lines())
			return r.app.writeJSON(ctx, r.run.JSON, report)
		}, r.result.Output, r.result.SaveSet)
}

// zeros returns the columns of a job's program that no --column fills.
func (r *runCommand) zeros(spec *job.Spec) (names []string) {
	e, err := r.app.programs.Find(spec.Program)
	if err != nil {
		return nil
	}
	find := func(uint64) (pregel.VertexID, bool) { return 0, true }
	p, err := e.New(resolve.AsNames(e.Parameters, spec.Parameters), find)
	if err != nil {
		return nil
	}
	for _, c := range resolve.Inputs(p) {
		given := func(f columnFile) bool { return f.name == c.Name }
		if !slices.ContainsFunc(r.run.columns, given) {
			names = append(names, c.Name)
		}
	}
	return names
}

// spec makes the job that the command line describes.
func (r *runCommand) spec(ctx context.Context, name string) (_ *job.Spec, err error) {
	spec := &job.Spec{
		Program: name, KeepResult: r.result.Output != "" || r.pick.wanted() || r.result.Verify ||
			r.run.cluster.Detach, Unsorted: !r.result.Sorted, Options: r.run.options(),
	}
	if spec.Parameters, err = splitParameters(r.asked.Params); err != nil {
		return nil, err
	}
	name = string(r.asked.Graph)
	if name == "" {
		return nil, usagef(
			"--graph is missing: FILE, catalog:NAME or a generator such as kronecker:scale=18")
	}
	spec.KeepWhen = r.run.keep.over(nil, r.run.flags)
	if spec.Rows, spec.Columns, err = r.run.partitionsOf(ctx, name, graph.Of); err != nil {
		return nil, err
	}
	if !r.run.onCluster && r.run.flags.Changed("workers") {
		r.app.warn(fmt.Sprintf(
			"--workers without --master: this process has %s, as with --partitions",
			graphio.Counted(r.run.Workers, "partition")))
	}
	catalog, ok := strings.CutPrefix(name, control.CatalogPrefix)
	if !ok {
		spec.Source, err = r.input.toLoad(name, r.run.onCluster)
		return spec, err
	}
	if flag, ok := changed(r.run.flags, ofLoading...); ok {
		return nil, usagef("--%s is for loading a graph, but %s is loaded", flag, name)
	}
	if spec.Graph = catalog; catalog == "" {
		return nil,
			usagef("--graph %s: expected catalog:NAME, a graph that superstep graphs list shows",
				name)
	}
	return spec, nil
}

// ofLoading are the flags for loading a graph.
var ofLoading = []string{"format", "directed", "undirected", "max-expand", "skip-bad", "bad-file", "source-column", "target-column", "weight-column", "delimiter", "header", "ids", "vertices", "vertex-column", "duplicates", "self-loops", "unit-weights", "check-files", "trust-files", "partitions", "grid", "within"}

// runReport is the output of --json.
type runReport struct {
	Algorithm  string            `json:"algorithm"`
	Parameters map[string]string `json:"parameters"`
	Graph      string            `json:"graph"`
	Within     string            `json:"within,omitempty"` // the vertex set of a part
	Vertices   int               `json:"vertices"`
	// edges of the input, including duplicates and loops
	Edges      int  `json:"edges"`
	Directed   bool `json:"directed"`
	Supersteps int  `json:"supersteps"`
	// converged, iterations, limit, halted or stopped
	Ended         trace.Ended `json:"ended"`
	Converged     bool        `json:"converged"` // the program's own criterion held
	LoadTime      float64     `json:"load_time"` // in seconds, like all times
	RunTime       float64     `json:"run_time"`
	WriteTime     float64     `json:"write_time"`
	SuperstepTime []float64   `json:"superstep_time"`
	Messages      int         `json:"messages"`       // before combining
	MessagesSent  int         `json:"messages_sent"`  // values sent between partitions
	BytesSent     int         `json:"bytes_sent"`     // bytes of these values
	PeakRSS       int64       `json:"peak_rss_bytes"` // of all processes
	Threads       int         `json:"threads"`        // of all processes
	Partitions    int         `json:"partitions"`
	Workers       int         `json:"workers"` // number of processes
	Grid          string      `json:"grid"`    // RxC
	Delivery      string      `json:"delivery"`
	// true with --verify; a wrong result has no report
	Verified *bool `json:"verified,omitempty"`
	// final values of the program's aggregators, by name
	Aggregators trace.Aggregates  `json:"aggregators,omitempty"`
	Checkpoints *checkpointReport `json:"checkpoints,omitempty"`
	// the checkpoint of another run that this run continued, and the differences
	Forked string `json:"forked,omitempty"`
	// if the program changes the graph: its size before the run
	GraphLoaded *record.GraphSize `json:"graph_loaded,omitempty"`
	GraphLeft   *record.GraphSize `json:"graph_left,omitempty"` // and after the run
	// number of malformed lines that were skipped
	SkippedLines int `json:"skipped_lines,omitempty"`
	skipped      []string
	fields       []string // of a line of --output or --top
	zeros        []string // columns without --column, which begin with zeros
}

// ran sets the outcome of a run.
func (p *runReport) ran(o *bsp.Outcome, final trace.Aggregates, loaded record.GraphSize) {
	p.Supersteps, p.Ended, p.Converged, p.Forked = o.Supersteps, o.Ended,
		o.Ended == trace.Converged, o.Forked
	p.Messages, p.MessagesSent, p.BytesSent = o.Messages, o.Sent, o.Bytes
	p.Aggregators = final
	if p.GraphLeft = o.Left; p.GraphLeft != nil {
		p.GraphLoaded = &loaded
	}
}

// leftOut sets the malformed lines that were skipped.
func (p *runReport) leftOut(lines []string) { p.skipped, p.SkippedLines = lines, len(lines) }

// reported prints the report of a run, with summary lines.
func (a *app) reported(w io.Writer, report *runReport, lines []string) {
	if !report.Ended.Complete() {
		a.warn(fmt.Sprintf("%s did not converge in %s", report.Algorithm,
			graphio.Counted(report.Supersteps, "superstep")))
	}
	report.text(w)
	for _, line := range lines {
		escape.Printf(w, "%s\n", line)
	}
}

func (p *runReport) text(w io.Writer) {
	escape.Printf(w, "%s on %s: %s, %s, %s\n", p.Algorithm, p.Graph,
		graphio.Counted(p.Vertices, "vertex"), graphio.Counted(p.Edges, "edge"),
		edges.Kind(p.Directed))
	how := string(p.Ended)
	switch p.Ended {
	case trace.Iterations:
		how = "ended by its iterations"
	case trace.Limit:
		how = "stopped at the limit"
	}
	fmt.Fprintf(w, "%s after %s, %s", how, graphio.Counted(p.Supersteps, "superstep"),
		graphio.Counted(p.Messages, "message"))
	if p.Partitions > 1 {
		fmt.Fprintf(w, ", %s and %s between %d partitions",
			graphio.Counted(p.MessagesSent, "value"), mem.Text(int64(p.BytesSent)), p.Partitions)
	}
	fmt.Fprintf(w, "\nload %.3f s, run %.6f s, write %.3f s, peak memory %s, %s\n",
		p.LoadTime, p.RunTime, p.WriteTime, mem.Text(p.PeakRSS),
		graphio.Counted(p.Threads, "thread"))
	if c := p.Checkpoints; c != nil && c.Taken == 0 && c.Failed > 0 {
		fmt.Fprintf(w, "checkpoints: none, %d could not be stored\n", c.Failed)
	} else if c != nil && c.Taken == 0 {
		fmt.Fprintln(w, "checkpoints: none was due, or ready in time")
	} else if c != nil {
		fmt.Fprintf(w,
			"checkpoints: %d, the last of %s before superstep %d, %.3f s of standing still\n",
			c.Taken, mem.Text(c.Bytes), c.Last, c.Copied)
	}
	if left, loaded := p.GraphLeft, p.GraphLoaded; left != nil {
		fmt.Fprintf(w, "graph left: %s, %s (loaded: %s, %s)\n",
			graphio.Counted(left.Vertices, "vertex"), graphio.Counted(left.Arcs, "arc"),
			graphio.Thousands(loaded.Vertices), graphio.Thousands(loaded.Arcs))
	}
	if len(p.zeros) > 0 {
		fmt.Fprintf(w, "without --column, all zeros: %s\n", strings.Join(p.zeros, ", "))
	}
	if len(p.fields) > 1 {
		fmt.Fprintf(w, "fields of a line: vertex, %s\n", strings.Join(p.fields, ", "))
	}
	if p.SkippedLines > 0 {
		fmt.Fprintf(w, "left out: %s\n",
			graphio.Counted(p.SkippedLines, "malformed line"))
	}
	texts := p.Aggregators.Texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		what := map[bool]string{false: "aggregator "}[trace.IsSummary(name)]
		escape.Printf(w, "%s%s: %s\n", what, name, texts[name])
	}
	if p.Verified != nil {
		fmt.Fprintln(w, "verified: the result satisfies its certificate")
	}
}
