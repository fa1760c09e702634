package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/nas"
)

// mostIdle is the maximum number of supersteps. A master keeps the times of this many for a client.
const mostIdle = 2000

func barrierCmd() *cobra.Command {
	var workers []int
	var supersteps int
	var delay time.Duration
	var json string
	cmd := &cobra.Command{
		Use:   "barrier --workers 2,4",
		Short: "Time the barrier between supersteps on clusters of worker processes",
		Long: `Time supersteps without computation and messages, so that only the barrier between supersteps
remains. The command starts and ends clusters of worker processes on this machine, one cluster after
the other. Each worker has one thread. With --delay (Linux only) each half of the workers is at one
of two sites.`,
		Example: `  go -C lab run . barrier
  go -C lab run . barrier --workers 1,2,4,8 --supersteps 1000 --json barrier.json
  go -C lab run . barrier --workers 32 --delay 1ms --supersteps 200`,
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
			var all []*nas.Barrier
			for _, n := range workers {
				b, err := nas.RunIdle(cmd.Context(),
					cluster.Cluster{
						Workers: n, Threads: 1, Delay: delay, Command: process(workerCommand),
					}, supersteps)
				if err != nil {
					return fmt.Errorf("barrier: %w", err)
				}
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
	f.StringVar(&json, "json", "", "write the results as JSON to `FILE`, - for standard output")
	return cmd
}
