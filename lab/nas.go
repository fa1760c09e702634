package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/nas"
)

// mostProcesses is the maximum number of processes that a command starts.
const mostProcesses = 64

// mostClusterDelay is the maximum delay between workers. The master considers workers lost after
// seconds of silence.
const mostClusterDelay = 100 * time.Millisecond

// errWrong is the error of a benchmark with another result than the published one.
var errWrong = errors.New("the result is not the published one")

// tell reports a benchmark's result. It fails if the result is not the published one.
func tell(command, json string, found interface{ Text(w io.Writer) error }, verified bool) error {
	if err := found.Text(report(json)); err != nil {
		return err
	}
	if err := writeJSON(json, found); err != nil || verified {
		return err
	}
	return fmt.Errorf("%s: %w", command, errWrong)
}

// nasCGCommand is the command `lab nas-cg`.
type nasCGCommand struct {
	class, grid, json            string
	partitions, workers, threads int
	delay                        time.Duration
}

func nasCGCmd() *cobra.Command {
	n := &nasCGCommand{}
	cmd := &cobra.Command{
		Use:   "nas-cg --class S",
		Short: "Run CG of the NAS Parallel Benchmarks as a vertex program",
		Long: `Run CG of the NAS Parallel Benchmarks (NPB 3.4) as a vertex program. CG computes an eigenvalue of a
random sparse matrix by the inverse power method. Each iteration solves a linear system by 25
iterations of conjugate gradients. Messages along weighted edges compute the product with the matrix,
and aggregators compute dot products. Zeta must agree with the published value within 1e-10.
Otherwise the exit status is 1. MFLOPS follow NPB's formula. As in NPB, they exclude the generation
of the matrix and a first iteration.

With --workers the command runs on a cluster of worker processes on this machine. It starts and ends
them. With --delay (Linux only) they are at two sites.`,
		Example: `  go -C lab run . nas-cg --class A
  go -C lab run . nas-cg --class S --grid 2x2 --threads 2
  go -C lab run . nas-cg --class W --workers 2 --threads 1 --json cg.json
  go -C lab run . nas-cg --workers 4 --grid 2x2 --delay 1ms`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n.workers > 0 && !cmd.Flags().Changed("threads") {
				n.threads = max(runtime.NumCPU()/n.workers, 1)
			}
			return n.execute(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&n.class, "class", "S", "the problem size, `CLASS` "+nas.ClassNames())
	f.IntVar(&n.partitions, "partitions", 0,
		"divide the matrix into one column of `N` partitions (default: 1, or one for each worker)")
	f.StringVar(&n.grid, "grid", "", "divide the matrix into a grid of `RxC` partitions instead")
	f.IntVar(&n.threads, "threads", runtime.GOMAXPROCS(0), "use `N` threads in each process")
	f.IntVar(&n.workers, "workers", 0, "run on a cluster of `N` worker processes")
	f.DurationVar(&n.delay, "delay", 0,
		"delay messages between two sites by `TIME` in each direction; one site has the master and the first half of the workers")
	f.StringVar(&n.json, "json", "", "write the report as JSON to `FILE`, - for standard output")
	return cmd
}

// layout returns the grid of --grid or --partitions.
func (n *nasCGCommand) layout() (superstep.Grid, error) {
	switch {
	case n.grid != "" && n.partitions != 0:
		return superstep.Grid{}, usagef("--grid and --partitions: one of them")
	case n.grid != "":
		g, err := graph.ParseGrid(n.grid)
		if err != nil {
			return superstep.Grid{}, usagef("--grid: %w", err)
		}
		return superstep.Grid(g), nil
	case n.partitions < 0 || n.partitions > graph.MaxPartitions:
		return superstep.Grid{}, usagef("--partitions: found %d, expected 1 to %d", n.partitions,
			graph.MaxPartitions)
	case n.partitions == 0:
		return superstep.Grid(graph.Of(max(n.workers, 1))), nil
	}
	return superstep.Grid(graph.Of(n.partitions)), nil
}

func (n *nasCGCommand) execute(ctx context.Context) error {
	class, err := findClass(n.class)
	if err != nil {
		return err
	}
	at := nas.CGPlace{Threads: n.threads}
	if at.Grid, err = n.layout(); err != nil {
		return err
	}
	switch {
	case n.threads < 1 || n.threads > 1<<12:
		return usagef("--threads: found %d, expected 1 to %d", n.threads, 1<<12)
	case n.workers < 0 || n.workers > mostProcesses:
		return usagef("--workers: found %d, expected 1 to %d", n.workers, mostProcesses)
	case n.delay < 0 || n.delay > mostClusterDelay:
		return usagef("--delay: found %v, expected 0s to %v", n.delay, mostClusterDelay)
	case n.delay > 0 && n.workers < 2:
		return usagef("--delay is between workers at two sites: expected --workers 2 or more")
	case at.Grid.Rows*at.Grid.Columns < n.workers:
		return usagef("--workers: found %d for %d partitions, expected at most one each", n.workers,
			at.Grid.Rows*at.Grid.Columns)
	}
	if err := checkOutputs("--json", n.json); err != nil {
		return err
	}
	if n.workers > 0 {
		at.Cluster = &cluster.Cluster{Workers: n.workers, Threads: n.threads, Delay: n.delay, Command: process(workerCommand)}
	}
	r, err := nas.RunCG(ctx, class, at)
	if err != nil {
		return fmt.Errorf("nas-cg: %w", err)
	}
	return tell("nas-cg", n.json, r, r.Verified)
}

func findClass(name string) (nas.Class, error) {
	class, err := nas.FindClass(name)
	if err != nil {
		return class, usagef("--class: %w", err)
	}
	return class, nil
}

// process returns a function that starts a process of this binary with a hidden command.
func process(command string) func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		path, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, path, append([]string{command}, arguments...)...), nil
	}
}

// workerCommand is the hidden command of workers.
const workerCommand = "worker"

func workerCmd() *cobra.Command {
	return &cobra.Command{
		Use: workerCommand + " ARGUMENTS", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			// Ctrl-C reaches the parent process, which ends this one
			signal.Ignore(os.Interrupt)
			return cluster.Serve(context.Background(), os.Stdin, os.Stdout, args[0], nas.Programs())
		},
	}
}
