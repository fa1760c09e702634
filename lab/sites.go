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
		Short: "Compare collectives and PageRank between two sites, that know of the sites and that do not",
		Long: `Time broadcast, allreduce and alltoall between workers at two sites, goroutines that meet by TCP over loopback with a delay and a shared
bandwidth put in between the sites. Algorithms are chosen in three ways, which take turns: by constants of a local network, by what messages
were measured to take, or also by which workers are at one site. Workers are at the sites by halves or by turns. Every result is checked.

Then PageRank is loaded and run on two clusters of worker processes with the same delay, without a bound of the bandwidth, by turns: the workers of one say at which site they
are. The clusters are started and ended.`,
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
	f.IntVar(&o.Workers, "workers", 4, "`N` workers")
	f.DurationVar(&n.delay, "delay", 10*time.Millisecond,
		"messages between the sites take `TIME` longer each way")
	f.Float64Var(&n.bandwidth, "bandwidth", 125e6,
		"and in collectives all of them share `B` bytes a second, each way; 0 for no bound")
	f.IntSliceVar(&o.Sizes, "sizes", []int{8, 1 << 10, 16 << 10, 256 << 10, 4 << 20},
		"collectives of these `BYTES`")
	f.StringVarP(&o.Graph, "graph", "g", "kronecker:scale=16",
		"PageRank on `GRAPH`; empty for none")
	f.IntVar(&o.Iterations, "iterations", 20, "of PageRank")
	f.IntVar(&o.Repeat, "repeat", 5, "time `N` rounds")
	f.StringVar(&json, "json", "", "write the figures as JSON to `FILE`, - for standard output")
	f.StringVar(&svg, "svg", "", "draw the collectives to `FILE`")
	return cmd
}
