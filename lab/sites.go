package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/sites"
)

func sitesCmd() *cobra.Command {
	n, o := &networkFlags{}, sites.Options{}
	var json, svg string
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "Compare topology-aware collectives and PageRank between two sites with others",
		Long: `Time broadcast, allreduce and alltoall between workers at two sites. The workers are goroutines that
connect by TCP over loopback. The connections between the sites have a delay and share a bandwidth. The
command chooses the algorithms in three ways, in turn: by constants of a local network, by measured
times of messages, or by these times and the sites of the workers. It assigns workers to the sites by
halves or alternately, and checks every result.

Then the command loads and runs PageRank alternately on two clusters of worker processes, with the same
delay and without a limit of the bandwidth. Only the workers of one cluster know their sites. The
command starts and ends the clusters.`,
		Example: `  go -C lab run . sites
  go -C lab run . sites --workers 4 --delay 10ms --bandwidth 125e6 --svg sites.svg
  go -C lab run . sites --graph kronecker:scale=18 --repeat 3 --json sites.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := n.check(); err != nil {
				return err
			}
			switch {
			case o.Workers < 2 || o.Workers > mostProcesses:
				return usagef("--workers: found %d, expected 2 to %d", o.Workers, mostProcesses)
			case o.Graph != "" && (n.delay <= 0 || n.delay > mostClusterDelay):
				return usagef("--delay: found %v, expected more than 0s, at most %v, where a cluster runs", n.delay, mostClusterDelay)
			case o.Repeat < 1 || o.Repeat > 1000:
				return usagef("--repeat: found %d, expected 1 to 1000", o.Repeat)
			case o.Iterations < 1:
				return usagef("--iterations: found %d, expected 1 or more", o.Iterations)
			}
			for _, size := range o.Sizes {
				if size < 8 || size%8 != 0 || size > 64<<20 {
					return usagef("--sizes: found %d, expected multiples of 8, to %d", size, 64<<20)
				}
			}
			if err := checkOutputs("--json", json, "--svg", svg); err != nil {
				return err
			}
			o.Delay, o.Bandwidth, o.Command = n.delay, n.bandwidth, process(workerCommand)
			found, err := sites.Measure(cmd.Context(), o)
			if err != nil {
				return fmt.Errorf("sites: %w", err)
			}
			if err := writeTo(svg, func(w io.Writer) error { return found.Figure(w) }); err != nil {
				return err
			}
			return tell(cmd.Name(), json, found, true)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.Workers, "workers", 4, "use `N` workers")
	f.DurationVar(&n.delay, "delay", 10*time.Millisecond,
		"delay messages between the sites by `TIME` in each direction")
	f.Float64Var(&n.bandwidth, "bandwidth", 125e6,
		"limit the traffic of collectives between the sites to `B` bytes per second in each direction; 0 for no limit")
	f.IntSliceVar(&o.Sizes, "sizes", []int{8, 1 << 10, 16 << 10, 256 << 10, 4 << 20},
		"sizes of the collectives, in `BYTES`")
	f.StringVarP(&o.Graph, "graph", "g", "kronecker:scale=16",
		"run PageRank on `GRAPH`; empty to skip it")
	f.IntVar(&o.Iterations, "iterations", 20, "run `N` iterations of PageRank")
	f.IntVar(&o.Repeat, "repeat", 5, "time `N` rounds")
	f.StringVar(&json, "json", "", "write the results as JSON to `FILE`, - for standard output")
	f.StringVar(&svg, "svg", "", "draw the collectives to `FILE`")
	return cmd
}
