package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/nas"
)

func cgModelCmd() *cobra.Command {
	r, n := &rankFlags{ranks: 1}, &networkFlags{}
	var ranks []int
	repeat := 0
	cmd := &cobra.Command{
		Use:   "cg-model --class S",
		Short: "Predict and measure the communication time of a conjugate-gradient iteration",
		Long: `Predict and measure the communication time of a conjugate-gradient iteration. The model is that of
Matsumoto15: a message of n bytes takes T = alpha n + beta. The command first measures alpha and beta
for each pair of ranks, like superstep netbench. As in the paper, an iteration has an allgather of the
direction and three allreduces of a number. In a grid it has an allgather in the columns and an
alltoall in the rows. The command compares all algorithms of both collectives for each number of
ranks. Then it runs CG of the NAS Parallel Benchmarks and measures the time of the ranks in
collectives. With --delay or --bandwidth each half of the ranks is at one of two sites.`,
		Example: `  go -C lab run . cg-model --class S
  go -C lab run . cg-model --class A --ranks 2,4,8
  go -C lab run . cg-model --class W --ranks 4,8 --delay 1ms --json model.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			class, at, err := r.check()
			if err != nil {
				return err
			}
			if err := n.check(); err != nil {
				return err
			}
			if err := nas.CheckRanks(ranks, mostProcesses); err != nil {
				return usagef("--ranks: %w", err)
			}
			if repeat < 1 || repeat > 1000 {
				return usagef("--repeat: found %d, expected 1 to 1000", repeat)
			}
			at.Delay, at.Bandwidth = n.delay, n.bandwidth
			found, err := nas.PredictCG(cmd.Context(), class, at, ranks, repeat)
			if err != nil {
				return fmt.Errorf("cg-model: %w", err)
			}
			return tell(cmd.Name(), r.json, found, found.Verified)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&r.class, "class", "S", "the problem size, `CLASS` "+nas.ClassNames())
	f.IntSliceVar(&ranks, "ranks", []int{1, 2, 4, 8}, "the numbers of ranks, a `LIST`")
	f.DurationVar(&n.delay, "delay", 0,
		"delay messages between two sites by `TIME` in each direction (default: one site)")
	f.Float64Var(&n.bandwidth, "bandwidth", 0,
		"limit the traffic between the sites to `B` bytes per second in each direction (default: no limit)")
	f.IntVar(&repeat, "repeat", 5, "time `N` rounds")
	r.defineRest(f)
	return cmd
}
