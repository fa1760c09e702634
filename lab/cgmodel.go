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
		Short: "Predict what communication takes in an iteration of conjugate gradients, and measure it",
		Long: `Predict by the model of Matsumoto15, T = alpha n + beta for a message of n bytes, what communication takes in an iteration of conjugate
gradients, and measure it. Alpha and beta are measured first, for each pair of ranks, as superstep netbench does. An iteration has, as in the paper, an
allgather of the direction and three allreduces of a number, or in a grid an allgather in the columns and an alltoall in the rows. Both collectives are also
compared by all algorithms, so that one sees from which number of ranks on another one wins. Then CG of the NAS Parallel Benchmarks runs, and
its ranks note how long they are in collectives. With --delay or --bandwidth ranks are at two sites, by halves.`,
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
	f.StringVar(&r.class, "class", "S", "the size: `CLASS` "+nas.ClassNames())
	f.IntSliceVar(&ranks, "ranks", []int{1, 2, 4, 8}, "between these numbers of ranks, a `LIST`")
	f.DurationVar(&n.delay, "delay", 0,
		"messages between two sites take `TIME` longer each way (default: one site)")
	f.Float64Var(&n.bandwidth, "bandwidth", 0,
		"and all of them share `B` bytes a second, each way (default: no bound)")
	f.IntVar(&repeat, "repeat", 5, "time `N` rounds")
	r.defineRest(f)
	return cmd
}
