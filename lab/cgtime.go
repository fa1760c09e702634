package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/nas"
)

func cgTimeCmd() *cobra.Command {
	r := &rankFlags{ranks: 1}
	var workers []int
	rounds := 0
	cmd := &cobra.Command{
		Use:   "cg-time --class A",
		Short: "Predict and measure the time of an iteration of CG as a vertex program",
		Long: `Predict the time of an iteration of conjugate gradients as a vertex program, and measure it on
clusters of worker processes with one thread each (Matsumoto15, section 6). Each term is measured
alone: the product with the matrix (SpMV) and the vector operations (AXPY, dot product) on a matrix of
the size of a worker's part, in as many processes at once as there are processors; barriers by
supersteps without messages; and messages by supersteps with hardly any entries. If there are more
workers than processors, they share the processors.

The table of parts has the parts of an iteration in the run, by its record, to compare them with the
terms. The last table has the number of rows from which another number of processes, network or grid
is predicted to be faster, if each process is on a machine of its own.`,
		Example: `  go -C lab run . cg-time
  go -C lab run . cg-time --class S --workers 1,2 --json cg.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			class, _, err := r.check()
			if err != nil {
				return err
			}
			if err := nas.CheckRanks(workers, mostProcesses); err != nil {
				return usagef("--workers: %w", err)
			}
			if rounds < 1 || rounds > 1000 {
				return usagef("--repeat: found %d, expected 1 to 1000", rounds)
			}
			stage := showStage()
			found, err := nas.TimeCG(cmd.Context(), class, cluster.Cluster{Command: process(workerCommand)},
				workers, rounds, func(name string) { stage(name, 0, 0) })
			if err != nil {
				return fmt.Errorf("cg-time: %w", err)
			}
			return tell(cmd.Name(), r.json, found, found.Verified)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&r.class, "class", "A", "the problem size, `CLASS` "+nas.ClassNames())
	f.IntSliceVar(&workers, "workers", []int{1, 2, 4, 8}, "the numbers of worker processes, a `LIST`")
	f.IntVar(&rounds, "repeat", 5, "measure in `N` rounds")
	r.defineRest(f)
	return cmd
}
