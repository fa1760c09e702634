package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/model"
)

// modelCommand is the command `lab model`.
type modelCommand struct {
	scale, edgeFactor, threads int
	roots                      int
	grid, network, json        string
	delivery                   string
	speed                      float64
	check, published           bool
	flags                      *pflag.FlagSet
}

func modelCmd() *cobra.Command {
	m := &modelCommand{}
	cmd := &cobra.Command{
		Use:   "model --scale S --grid RxC",
		Short: "Predict a Graph500 search on another machine",
		Long: `Predict a breadth-first search of a Kronecker graph on a grid of processes: the levels of the search,
the traffic and the time of each phase, and the TEPS. The model derives the levels from the
probabilities of the generator, and the bytes from the levels and the grid. It derives the times from
the network and from the speed of the kernels, which it measures on this machine. It also measures
and scales what a thread loses beside another one, and how unequal the processes' work is.

--check runs searches of a small SCALE in this process, with one partition for each process of the
grid, and compares the bytes sent with the prediction. --published predicts the runs in the papers.`,
		Example: `  go -C lab run . model --scale 40 --grid 320x288 --network tofu-d --threads 48
  go -C lab run . model --scale 30 --grid 8x8 --network bandwidth=12.5e9,latency=5e-6 --threads 16
  go -C lab run . model --scale 16 --grid 8x4 --check
  go -C lab run . model --published`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.execute(cmd.Context()) },
	}
	cmd.Flags().SortFlags = false
	m.flags = cmd.Flags()
	cmd.Flags().IntVar(&m.scale, "scale", 26, "use a graph of 2^`S` vertices")
	cmd.Flags().IntVar(&m.edgeFactor, "edgefactor", 16, "`N` edges for each vertex")
	cmd.Flags().StringVar(&m.grid, "grid", "1x1", "a grid of `RxC` processes")
	cmd.Flags().IntVar(&m.threads, "threads", 1, "`N` threads in each process")
	cmd.Flags().StringVar(&m.network, "network", "ethernet-10g",
		"the network between the processes, `NETWORK`: "+
			strings.Join(model.NetworkNames(), ", ")+", or bandwidth=B/S,latency=S")
	cmd.Flags().Float64Var(&m.speed, "speed", 1,
		"assume threads `F` times as fast as this machine's")
	cmd.Flags().StringVar(&m.delivery, "delivery", "auto",
		"the delivery of levels: the faster one for each (auto), or one for all (push, pull)")
	cmd.Flags().BoolVar(&m.check, "check", false,
		"compare the prediction with searches in this process")
	cmd.Flags().IntVar(&m.roots, "roots", 8,
		"with --check: search from `N` vertices of different degrees")
	cmd.Flags().BoolVar(&m.published, "published", false, "predict the runs in the papers instead")
	cmd.Flags().StringVar(&m.json, "json", "",
		"write the prediction as JSON to `FILE`, - for standard output")
	return cmd
}

// mostCheck is the maximum scale of --check, which builds the graph with all partitions in this
// process.
const mostCheck = 20

func (m *modelCommand) execute(ctx context.Context) error {
	grid, err := graph.ParseGrid(m.grid)
	if err != nil {
		return usagef("--grid: %w", err)
	}
	network, err := model.ParseNetwork(m.network)
	if err != nil {
		return usagef("--network: %w", err)
	}
	switch {
	case m.scale < 1 || m.scale > 60:
		return usagef("--scale: found %d, expected 1 to 60", m.scale)
	case m.edgeFactor < 1 || m.edgeFactor > 1<<20:
		return usagef("--edgefactor: found %d, expected 1 to %d", m.edgeFactor, 1<<20)
	case m.threads < 1 || m.threads > 1<<20:
		return usagef("--threads: found %d, expected 1 to %d", m.threads, 1<<20)
	case !(m.speed > 0) || math.IsInf(m.speed, 0):
		return usagef("--speed: found %v, expected a number above 0", m.speed)
	case m.roots < 1 || m.roots > 1<<20:
		return usagef("--roots: found %d, expected 1 to %d", m.roots, 1<<20)
	case m.check && m.published:
		return usagef("--check and --published: one of them")
	case grid.Partitions() > 1<<min(m.scale, 40):
		return usagef("--grid: found %d processes, expected at most one for each of 2^%d vertices",
			grid.Partitions(), m.scale)
	case m.check && (m.scale > mostCheck || grid.Partitions() > graph.MaxPartitions):
		return usagef("--check: found SCALE %d on %d partitions, expected at most %d on %d",
			m.scale, grid.Partitions(), mostCheck, graph.MaxPartitions)
	}
	if err := m.fits(); err != nil {
		return err
	}
	if err := errors.Join(oneOf("delivery", m.delivery, "auto", "push", "pull"),
		checkOutputs("--json", m.json)); err != nil {
		return err
	}
	if m.check {
		check, err := model.Check(ctx, m.scale, m.edgeFactor,
			model.Grid{Rows: grid.Rows, Columns: grid.Columns}, m.roots, showStage())
		if err != nil {
			return fmt.Errorf("model: %w", err)
		}
		if err := check.Text(report(m.json)); err != nil {
			return err
		}
		return writeJSON(m.json, check)
	}
	rates, err := model.Measure(ctx)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	rates = rates.Faster(m.speed)
	waiting, err := model.MeasureWaiting(ctx)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if m.published {
		beside := model.Beside(rates, waiting, slices.Values(model.Runs))
		if err := beside.Text(report(m.json)); err != nil {
			return err
		}
		return writeJSON(m.json, beside)
	}
	schemes := map[string][]model.Scheme{"push": {model.Push}, "pull": {model.Pull}}[m.delivery]
	p := model.Predict(model.NewSearch(m.scale, m.edgeFactor, 0), model.Machine{
		Grid: model.Grid{Rows: grid.Rows, Columns: grid.Columns}, Threads: m.threads, Rates: rates,
		Network: network, Waiting: waiting,
	}, schemes...)
	if err := p.Text(report(m.json)); err != nil {
		return err
	}
	return writeJSON(m.json, p)
}

// fits refuses flags that would have no effect.
func (m *modelCommand) fits() error {
	switch {
	case m.published:
		if name, ok := changed(m.flags, "scale", "edgefactor", "grid", "threads", "network",
			"delivery", "roots"); ok {
			return usagef("--%s: the published runs have their own: not with --published", name)
		}
	case m.check:
		if name, ok := changed(m.flags, "threads", "network", "speed", "delivery"); ok {
			return usagef("--%s is of times: --check counts messages and bytes, of every scheme",
				name)
		}
	case m.flags.Changed("roots"):
		return usagef(
			"--roots is of --check: a prediction is for a vertex with the mean number of edges")
	}
	return nil
}
