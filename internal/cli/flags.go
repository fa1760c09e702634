package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/parallel"
)

// threadsFlag is the flag of commands that run in this process.
type threadsFlag struct {
	Threads int `flag:"threads" group:"run" range:"1..4096" help:"use {N} threads in this process"`
}

// allThreads returns the default: GOMAXPROCS threads.
func allThreads() threadsFlag { return threadsFlag{runtime.GOMAXPROCS(0)} }

// team makes the threads of this process.
func (f threadsFlag) team() *parallel.Team {
	if f.Threads > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(f.Threads)
	}
	return parallel.NewTeam(f.Threads, f.Threads <= runtime.NumCPU())
}

// sourceFlags are the flags for reading and storing a graph.
type sourceFlags struct {
	job.Source
	AsDirected   bool   `flag:"directed" group:"input" help:"read edges as directed"`
	AsUndirected bool   `flag:"undirected" group:"input" help:"read edges as undirected"`
	Part         string `flag:"within" group:"input,more" help:"use only the vertices in the vertex set {FILE}, and the edges between them; run --save-set and superstep set write such files"`
	BadFile      string `flag:"bad-file" group:"output,more" help:"write the place and the error of each skipped line to {FILE}"`
}

// ofStoring are flags for storing a graph. ofWorkers are flags for comparing the workers' files.
var (
	ofStoring = []string{"duplicates", "self-loops", "unit-weights", "within"}
	ofWorkers = []string{"check-files", "trust-files"}
)

func (f *sourceFlags) define(cmd *cobra.Command, without ...string) {
	flagsOf(cmd, f, without...)
	completeFormats(cmd, "format", graphio.Formats)
}

// completeFormats lists the formats in a flag's help, and completes them.
func completeFormats(cmd *cobra.Command, name string, formats []string) {
	f := cmd.Flags().Lookup(name)
	f.Usage = strings.Replace(f.Usage, " (default", ": "+strings.Join(formats, ", ")+" (default", 1)
	_ = cmd.RegisterFlagCompletionFunc(name,
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// source describes a graph from its name and the flags.
func (f *sourceFlags) source(name string) (*job.Source, error) {
	s := f.Source
	s.Input, s.Within = name, f.Part
	switch {
	case f.AsDirected && f.AsUndirected:
		return nil, usagef("--directed and --undirected contradict each other")
	case s.CheckFiles && s.TrustFiles:
		return nil, usagef("--check-files and --trust-files contradict each other")
	case s.VertexColumn != "" && s.Vertices == "":
		return nil, usagef("--vertex-column needs --vertices FILE")
	case f.BadFile != "" && s.SkipBad == 0:
		return nil, usagef("--bad-file needs --skip-bad N")
	case s.Format != "" && generate.IsGenerator(name):
		return nil, usagef("--format %s is for files, but %s is a generator", s.Format, name)
	}
	if f.AsDirected || f.AsUndirected {
		s.Directed = &f.AsDirected
	}
	if err := isGraph(name); err != nil {
		return nil, err
	}
	if _, _, err := load.From(&s); err != nil {
		return nil, usagef("--%w", err)
	}
	return &s, writable(f.BadFile)
}

// request returns the request to read a graph, with weights if it has any.
func (f *sourceFlags) request(name string) (load.Request, error) {
	s, err := f.source(name)
	if err != nil {
		return load.Request{}, err
	}
	r, _, err := load.From(s)
	return r, err
}

// toLoad is source for a graph that will be built. On a cluster it makes the names of files
// absolute, because workers use the same names.
func (f *sourceFlags) toLoad(name string, onCluster bool) (*job.Source, error) {
	s, err := f.source(name)
	if err != nil {
		return nil, err
	}
	if err := resolve.Loadable(name); err != nil {
		return nil, usageError{err}
	}
	switch {
	case !onCluster && (s.CheckFiles || s.TrustFiles):
		return nil, usagef("--check-files and --trust-files need a cluster (--master)")
	case !onCluster:
		return s, nil
	case s.SkipBad > mostSkippedThere:
		return nil, usagef("--skip-bad: found %d, expected at most %d on a cluster", s.SkipBad,
			mostSkippedThere)
	}
	if err := resolve.Absolute(s); err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	return s, nil
}

// isGraph rejects an unknown generator, or one with wrong parameters.
func isGraph(name string) error {
	if generate.IsGenerator(name) {
		if _, err := generate.Parse(name); err != nil {
			return usageError{err}
		}
		return nil
	}
	if _, params, ok := strings.Cut(name, ":"); ok && strings.Contains(params, "=") {
		if err := graphio.Present(name, ""); errors.Is(err, fs.ErrNotExist) {
			_, err = generate.Parse(name)
			return usagef("there is no file %s, and %w", name, err)
		}
	}
	return nil
}

// gridFlags are the flags for the partitions of a graph.
type gridFlags struct {
	Partitions int    `flag:"partitions" group:"run" default:"1" range:"1.." help:"use {N} partitions"`
	Grid       string `flag:"grid" group:"run,more" help:"use a grid of {RxC} partitions"`
	Workers    int    `flag:"workers" group:"cluster,more" default:"1" range:"1.." help:"on a cluster: wait until {N} workers are registered"`

	cluster   jobFlags
	flags     *pflag.FlagSet
	onCluster bool // the command runs on a cluster
}

// runFlags are the flags for running a program.
type runFlags struct {
	threadsFlag
	gridFlags
	job.Options
	JSON    string `flag:"json" group:"output" help:"write JSON to {FILE}, - for standard output"`
	columns []columnFile
	keep    checkpointFlags
	seeFlags
	memoryFlags
}

// define defines the flags. shape describes the default grid of N partitions.
func (f *runFlags) define(cmd *cobra.Command, shape string, without ...string) {
	f.threadsFlag, f.command = allThreads(), cmd.Name()
	flagsOf(cmd, f, without...)
	f.defined(cmd, shape)
}

// columnOf and squareOf describe the default grid of N partitions.
const (
	columnOf = "grid Nx1"
	squareOf = "the squarest grid there is"
)

func (f *gridFlags) defined(cmd *cobra.Command, shape string) {
	f.flags = cmd.Flags()
	f.flags.Lookup("partitions").Usage = "divide the graph into `N` partitions, " + shape +
		"; on a cluster the default is one per worker"
}

// await makes the client wait for workers, if requested.
func (f *gridFlags) await() {
	if f.flags.Changed("workers") {
		f.cluster.await = f.Workers
	}
}

// partitions returns the requested grid. If only the number of partitions is given, of returns the
// grid. On a cluster the default is 0 by 0: the master makes one partition per worker.
func (f *gridFlags) partitions(of func(n int) graph.Grid) (rows, columns uint32, err error) {
	name, n := "partitions", f.Partitions
	asked := f.flags.Changed(name)
	// --workers means partitions in one process
	if !asked && !f.onCluster && f.flags.Changed("workers") {
		name, n, asked = "workers", f.Workers, true
	}
	var grid graph.Grid
	switch {
	case f.Grid != "" && asked:
		return 0, 0, usagef("found --%s and --grid, expected one of them", name)
	case f.Grid != "":
		name = "grid"
		if grid, err = graph.ParseGrid(f.Grid); err != nil {
			return 0, 0, usagef("--grid: %v", err)
		}
	case f.onCluster && !asked:
		return 0, 0, nil
	default:
		grid = of(n)
	}
	if n := grid.Partitions(); n > graph.MaxPartitions {
		return 0, 0, usagef("--%s: found %d partitions, expected at most %d", name, n,
			graph.MaxPartitions)
	}
	return uint32(grid.Rows), uint32(grid.Columns), nil
}

// options returns the options of the job.
func (f *runFlags) options() job.Options {
	o := f.Options
	o.Delivery, o.Trace = cmp.Or(o.Delivery, "auto"), f.seeFlags.Trace != ""
	return o
}

// program finds a program by name.
func (a *app) program(name string) (engine.Registered, error) {
	p, err := a.programs.Find(name)
	if err != nil {
		return p, usageError{err}
	}
	return p, nil
}

// splitParameters parses the flags -p key=value of a program.
func splitParameters(flags []string) (map[string]string, error) {
	values := map[string]string{}
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("-p %s: expected key=value", f)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("-p %s: given twice: expected it once; a list has commas", name)
		}
		values[name] = text
	}
	return values, nil
}
