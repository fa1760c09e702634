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
		Short: "Compare CG and IS between two sites, with collectives that know the sites and others",
		Long: `Run CG and IS of the NAS Parallel Benchmarks by collectives between ranks at two sites, as GridMPI was measured (Matsuda): messages
between the sites take a delay longer, and share a bandwidth. Algorithms are chosen in three ways, which take turns: by constants of a local
network, by what messages between the ranks have been measured to take, or also by which ranks are at one site. Ranks are at the sites by halves or by
turns. CG is here that of Matsumoto15, figure 7: ranks have rows of the matrix, and tell each other the direction by allgather. The first round does not
count. A result that is not the published one makes the status 1.`,
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
		"messages between the sites take `TIME` longer each way")
	f.Float64Var(&n.bandwidth, "bandwidth", 0,
		"and all of them share `B` bytes a second, each way (default: no bound)")
	f.IntVar(&repeat, "repeat", 3, "time `N` rounds")
	return cmd
}
