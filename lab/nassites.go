package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/nas"
)

// networkFlags describe the network between two sites.
type networkFlags struct {
	delay     time.Duration
	bandwidth float64
}

func (n *networkFlags) check() error {
	switch {
	case n.delay < 0 || n.delay > time.Second:
		return usagef("--delay: found %v, expected 0s to 1s", n.delay)
	case !(n.bandwidth >= 0) || math.IsInf(n.bandwidth, 0) || n.bandwidth > 0 && n.bandwidth < 1e4:
		return usagef("--bandwidth: found %v, expected 1e4 bytes a second or more, or 0 for no bound", n.bandwidth)
	}
	return nil
}

func nasSitesCmd() *cobra.Command {
	r, n := &rankFlags{}, &networkFlags{}
	repeat := 0
	cmd := &cobra.Command{
		Use:   "nas-sites --class S",
		Short: "Compare CG, FT and IS between two sites, with and without topology-aware collectives",
		Long: `Run CG, FT and IS of the NAS Parallel Benchmarks with collectives between ranks at two sites, like the
measurements of GridMPI (Matsuda). Messages between the sites have a delay and share a bandwidth. The
command chooses the algorithms in three ways, in turn: by constants of a local network, by measured
times of messages between the ranks, or by these times and the sites of the ranks. It assigns ranks to
the sites by halves or alternately. CG is the variant of Matsumoto15, figure 7: ranks have rows of the
matrix and exchange the direction by allgather. The first round does not count. If a result differs
from the published one, the exit status is 1.`,
		Example: `  go -C lab run . nas-sites --class S
  go -C lab run . nas-sites --class W --ranks 8 --delay 1ms --bandwidth 12.5e6
  go -C lab run . nas-sites --ranks 6 --repeat 5 --json sites.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			class, at, err := r.check()
			if err != nil {
				return err
			}
			if err := n.check(); err != nil {
				return err
			}
			switch {
			case r.ranks < 2:
				return usagef("--ranks: found %d, expected 2 to %d", r.ranks, mostProcesses)
			case repeat < 1 || repeat > 1000:
				return usagef("--repeat: found %d, expected 1 to 1000", repeat)
			}
			at.Delay, at.Bandwidth = n.delay, n.bandwidth
			found, err := nas.Compare(cmd.Context(), class, at, repeat)
			if err != nil {
				return fmt.Errorf("nas-sites: %w", err)
			}
			return tell(cmd.Name(), r.json, found, found.Verified)
		},
	}
	f := cmd.Flags()
	r.define(f, 8)
	f.DurationVar(&n.delay, "delay", time.Millisecond,
		"delay messages between the sites by `TIME` in each direction")
	f.Float64Var(&n.bandwidth, "bandwidth", 0,
		"limit the traffic between the sites to `B` bytes per second in each direction (default: no limit)")
	f.IntVar(&repeat, "repeat", 3, "time `N` rounds")
	return cmd
}
