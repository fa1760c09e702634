package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/parallel"
)

// maxThreads bounds --threads: more is a slip of the finger.
const maxThreads = 4096

// inputFlags say how a graph is read.
type inputFlags struct {
	format               string
	directed, undirected bool
	maxExpand            string
	skip                 skipFlags
	columns              tableFlags
}

func (f *inputFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "", "the file's `FORMAT`: "+strings.Join(graphio.Formats, ", ")+" (default: detected from name and content)")
	cmd.Flags().BoolVar(&f.directed, "directed", false, "read edges as directed, even if the input says undirected")
	cmd.Flags().BoolVar(&f.undirected, "undirected", false, "read edges as undirected, even if the input says directed")
	cmd.Flags().StringVar(&f.maxExpand, "max-expand", "", "refuse a compressed file that expands to more than `BYTES`, such as 50GB (default: 100 times its size, at least 1GB)")
	nothing(cmd, "max-expand")
	f.skip.define(cmd)
	f.columns.define(cmd)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(graphio.Formats, cobra.ShellCompDirectiveNoFileComp))
}

// words returns the flags as a command line has them.
func (f *inputFlags) words() []string {
	var all []string
	if f.format != "" {
		all = append(all, "--format "+f.format)
	}
	if f.directed {
		all = append(all, "--directed")
	}
	if f.undirected {
		all = append(all, "--undirected")
	}
	if f.maxExpand != "" {
		all = append(all, "--max-expand "+quoted(f.maxExpand))
	}
	if f.skip.bad > 0 {
		all = append(all, fmt.Sprint("--skip-bad ", f.skip.bad))
	}
	return append(all, f.columns.words()...)
}

func (f *inputFlags) request(name string) (load.Request, error) {
	r := load.Request{Name: name}
	if f.directed && f.undirected {
		return r, usagef("--directed and --undirected contradict each other")
	}
	if err := isGraph(name); err != nil {
		return r, err
	}
	if f.directed || f.undirected {
		r.Directed = &f.directed
	}
	if f.format != "" {
		format, err := graphio.ParseFormat(f.format)
		if err != nil {
			return r, usagef("--format: %w", err)
		}
		r.Format = format
		if generate.IsGenerator(name) {
			return r, usagef("--format %s is of files: %s is a generator", f.format, name)
		}
	}
	var err error
	if r.MaxExpand, err = parseBytes(f.maxExpand); err != nil {
		return r, usagef("--max-expand: %w", err)
	}
	if r.SkipBad, err = f.skip.bad, f.skip.check(); err != nil {
		return r, err
	}
	r.Columns, err = f.columns.columns()
	return r, err
}

// isGraph refuses what can be no graph's name: a generator with wrong parameters, or an unknown one.
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

// parseBytes reads a number of bytes: 1000, 5MB, 3GiB.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits := strings.TrimRight(s, "KMGTiBb")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit := s[len(digits):]
	factor, ok := map[string]int64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[unit]
	if err != nil || !ok || n <= 0 || n > 1<<62/factor {
		return 0, fmt.Errorf("found %q, expected a number of bytes, such as 500MB", s)
	}
	return n * factor, nil
}

// storeFlags say how a graph is stored.
type storeFlags struct {
	duplicates, loops *oneOf
	unit              bool
	check, trust      bool // files of workers
}

func (f *storeFlags) define(cmd *cobra.Command) {
	f.duplicates = wordFlag(cmd, "duplicates", "parallel edges: keep all; keep the first of the input; keep the one of min weight; replace them by one whose weight is their sum; or refuse them as an error", graph.DuplicateWords...)
	f.loops = wordFlag(cmd, "self-loops", "edges from a vertex to itself: keep or drop them", "keep", "drop")
	cmd.Flags().BoolVar(&f.unit, "unit-weights", false, "give every edge the weight 1")
}

// defineCompare defines how the workers of a cluster compare the files that they see.
func (f *storeFlags) defineCompare(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.check, "check-files", false, "compare all bytes of the files that the workers see (default: of files above 4 MiB one block in 16)")
	cmd.Flags().BoolVar(&f.trust, "trust-files", false, "do not compare the files that the workers see")
}

// runFlags say how a program is run.
type runFlags struct {
	threads, count, workers int // count is of partitions
	grid                    string
	delivery                *oneOf
	deterministic           bool
	maxSupersteps           int
	seed                    uint64
	fork                    bool
	superstepTimeout        time.Duration
	json                    string
	columns                 []columnFile
	keep                    checkpointFlags
	memory                  memoryFlags
	seeFlags
	flags *pflag.FlagSet

	cluster   clientFlags
	onCluster bool // is where it is run
}

func (f *runFlags) define(cmd *cobra.Command, shape string) {
	threadsFlag(cmd, &f.threads)
	f.defineGrid(cmd, shape)
	f.delivery = wordFlag(cmd, "delivery", "how messages are delivered: auto chooses in each superstep, the others fix the choice; naive and mirrored need partitions in one row or column, whole and ring need a grid RxC",
		delivery.ChoiceWords...)
	cmd.Flags().BoolVar(&f.deterministic, "deterministic", false, "make results independent of threads, partitions and delivery")
	cmd.Flags().DurationVar(&f.superstepTimeout, "superstep-timeout", 0, "fail when a superstep takes longer than `TIME`, such as 30s (default: no limit)")
	nothing(cmd, "superstep-timeout")
	cmd.Flags().StringVar(&f.json, "json", "", "write the report as JSON to `FILE`, - for standard output")
	f.memory.define(cmd)
	f.seeFlags.define(cmd)
}

// columnOf and squareOf say which grid a number of partitions means.
const (
	columnOf = "grid Nx1"
	squareOf = "the squarest grid there is"
)

// defineGrid defines the flags that say how a graph is dealt to partitions, so many of them in a grid of the shape.
func (f *runFlags) defineGrid(cmd *cobra.Command, shape string) {
	f.flags = cmd.Flags()
	cmd.Flags().IntVar(&f.count, "partitions", 1, "divide the graph into `N` partitions, "+shape+"; on a cluster the default is one per worker")
	cmd.Flags().StringVar(&f.grid, "grid", "", "divide the edges by row and column into a grid of `RxC` partitions")
	cmd.Flags().IntVar(&f.workers, "workers", 1, "on a cluster: wait until `N` workers are registered")
	nothing(cmd, "partitions", "workers")
	_ = cmd.RegisterFlagCompletionFunc("grid", completeGrid)
}

func threadsFlag(cmd *cobra.Command, threads *int) {
	cmd.Flags().IntVar(threads, "threads", runtime.GOMAXPROCS(0), "use `N` threads in this process")
	nothing(cmd, "threads")
}

// partitions returns the grid of partitions asked for: where only their number is given, the one that of makes of it. On a cluster
// 0 by 0 leaves it to the master, which has a partition for each worker.
func (f *runFlags) partitions(of func(n int) graph.Grid) (rows, columns uint32, err error) {
	name, n := "partitions", f.count
	asked := f.flags.Changed(name)
	if !asked && !f.onCluster && f.flags.Changed("workers") { // as it was called in one process
		name, n, asked = "workers", f.workers, true
	}
	var grid graph.Grid
	switch {
	case f.grid != "" && asked:
		return 0, 0, usagef("--%s and --grid say the same: give one of them", name)
	case f.grid != "":
		name = "grid"
		if grid, err = graph.ParseGrid(f.grid); err != nil {
			return 0, 0, usagef("--grid: %v", err)
		}
	case f.onCluster && !asked:
		return 0, 0, nil
	case n < 1:
		return 0, 0, usagef("--%s: found %d, expected 1 or more", name, n)
	default:
		grid = of(n)
	}
	if n := grid.Partitions(); n > graph.MaxPartitions {
		return 0, 0, usagef("--%s: found %d partitions, expected at most %d", name, n, graph.MaxPartitions)
	}
	return uint32(grid.Rows), uint32(grid.Columns), nil
}

// limits refuses a limit of supersteps or their time that makes no sense, or that a job on a cluster could not have.
func (f *runFlags) limits() error {
	if err := limit("--superstep-timeout", f.superstepTimeout); err != nil {
		return err
	}
	if f.maxSupersteps < 0 || f.maxSupersteps > math.MaxUint32 {
		return usagef("--max-supersteps: found %d, expected 1 to %d, or 0 for no limit", f.maxSupersteps, uint32(math.MaxUint32))
	}
	return nil
}

// limit refuses a limit of time that makes no sense.
func limit(flag string, d time.Duration) error {
	if d < 0 {
		return usagef("%s: found %v, expected a time, such as 30s, or 0 for no limit", flag, d)
	}
	return nil
}

func (f *runFlags) team() (*parallel.Team, error) {
	if f.threads < 1 || f.threads > maxThreads {
		return nil, usagef("--threads: found %d, expected 1 to %d", f.threads, maxThreads)
	}
	if f.threads > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(f.threads)
	}
	return parallel.NewTeam(f.threads, f.threads <= runtime.NumCPU()), nil
}

// options are those of a job.
func (f *runFlags) options() *control.RunOptions {
	return &control.RunOptions{
		Delivery: f.delivery.value, Deterministic: f.deterministic, MaxSupersteps: uint32(f.maxSupersteps),
		SuperstepTimeout: int64(f.superstepTimeout), Trace: f.trace != "", Seed: f.seed, Fork: f.fork,
	}
}

// program finds a program by name.
func (a *app) program(name string) (engine.Registered, error) {
	p, err := a.programs.Find(name)
	if err != nil {
		return p, usageError{err}
	}
	return p, nil
}

// splitParameters reads -p key=value flags of a program.
func (a *app) splitParameters(program string, flags []string) (map[string]string, error) {
	values := map[string]string{}
	for _, f := range flags {
		name, text, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("-p %s: expected key=value", f)
		}
		if _, twice := values[name]; twice {
			p, err := a.programs.Find(program) // an error is told where the program is run
			if err == nil && slices.ContainsFunc(p.Parameters, func(x engine.Parameter) bool { return x.Name == name && x.List }) {
				return nil, usagef("-p %s: given twice: the values of a list are separated with commas, %[1]s=1,5", name)
			}
			return nil, usagef("-p %s: given twice", name)
		}
		values[name] = text
	}
	return values, nil
}
