package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/nas"
	"github.com/superstep-go/superstep/test/hosts/netns"
)

// mostIdle is the maximum number of supersteps. A master keeps the times of this many for a client.
const mostIdle = 2000

func barrierCmd() *cobra.Command {
	var workers []int
	var supersteps int
	var delay time.Duration
	var json string
	apart := false
	cmd := &cobra.Command{
		Use:   "barrier --workers 2,4",
		Short: "Time the barrier between supersteps on clusters of worker processes",
		Long: `Time supersteps without computation and messages, so that only the barrier between supersteps
remains. The command starts and ends clusters of worker processes on this machine, one cluster after
the other. Each worker has one thread. With --delay (Linux only) each half of the workers is at one
of two sites. With --apart (Linux only) each worker is in a network namespace of its own, as on a
machine of its own, and the delay is between any two of them.`,
		Example: `  go -C lab run . barrier
  go -C lab run . barrier --workers 1,2,4,8 --supersteps 1000 --json barrier.json
  go -C lab run . barrier --workers 32 --delay 1ms --supersteps 200
  go -C lab run . barrier --workers 4 --apart --delay 1ms --supersteps 200`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if supersteps < 10 || supersteps > mostIdle {
				return usagef("--supersteps: found %d, expected 10 to %d", supersteps, mostIdle)
			}
			if err := nas.CheckRanks(workers, mostProcesses); err != nil {
				return usagef("--workers: %w", err)
			}
			if delay < 0 || delay > mostClusterDelay {
				return usagef("--delay: found %v, expected 0s to %v", delay, mostClusterDelay)
			}
			c := cluster.Cluster{Threads: 1, Delay: delay, Command: process(workerCommand)}
			if apart {
				if len(workers) > 1 {
					return usagef("--apart: found %d numbers of workers, expected one", len(workers))
				}
				hub, err := apartOn(cmd.Context(), delay)
				if err != nil {
					return err
				}
				defer hub.Close()
				c.Namespaces, c.Delay = hub, 0
			}
			var all []*nas.Barrier
			for _, n := range workers {
				c.Workers = n
				b, err := nas.RunIdle(cmd.Context(), c, supersteps)
				if err != nil {
					return fmt.Errorf("barrier: %w", err)
				}
				b.Delay, b.Apart = delay.Seconds(), apart
				if err := b.Text(report(json)); err != nil {
					return err
				}
				all = append(all, b)
			}
			return writeJSON(json, all)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntSliceVar(&workers, "workers", []int{2, 4},
		"the numbers of worker processes, a `LIST`")
	f.IntVar(&supersteps, "supersteps", mostIdle,
		"run `N` supersteps and ignore the first tenth")
	f.DurationVar(&delay, "delay", 0,
		"delay messages between two sites by `TIME` in each direction (default: one site)")
	f.BoolVar(&apart, "apart", false, "put each worker into a network namespace of its own")
	f.StringVar(&json, "json", "", "write the results as JSON to `FILE`, - for standard output")
	return cmd
}

// apartOn returns the switch between network namespaces, with a delay between any two of them. At
// first it runs this program again in namespaces, and returns its exit status as an error.
func apartOn(ctx context.Context, delay time.Duration) (*netns.Hub, error) {
	if netns.Inside() {
		return netns.NewHub(netns.Cable{Delay: delay / 2})
	}
	if err := netns.Refused(ctx, tryCommand, "none", delay.String()); err != nil {
		return nil, fmt.Errorf("no network namespaces: %w", err)
	}
	status, err := netns.Enter(ctx)
	if err == nil {
		err = statusError(status)
	}
	return nil, err
}
