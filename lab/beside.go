package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/beside"
)

// trialsCommand runs superstep's part of a comparison.
const trialsCommand = "trials"

func besideCmd() *cobra.Command {
	c := beside.Config{}
	var algorithms []string
	var json string
	cmd := &cobra.Command{
		Use:   "beside PEERS FILE...",
		Short: "Compare superstep.Run with programs of the GAP Benchmark Suite on the same files",
		Long: `Run superstep and the GAP Benchmark Suite (GAPBS) alternately on the same files, and print a
table of the times of superstep.Run on a loaded graph and of the times of GAPBS trials. PEERS is the
folder of the GAPBS programs bfs, pr, cc and sssp. It may also have bfs-relabelled and
pr-relabelled: the same programs with a call of Builder::RelabelByDegree in main. They run with huge
pages. The command skips missing programs. It runs sssp with four values of delta and reports the
fastest. FILEs are serialized graphs: .wsg for sssp, .sg for the others.

Each round starts each program once, for a number of trials. The table shows the first trial
separately, because the first Run on a graph measures rates that later ones use. The table shows the
medians of the other trials. The speed is the time of GAPBS divided by the time of superstep.`,
		Example: `  PEERS/converter -g20 -b kron20.sg    # Kronecker, SCALE 20
  PEERS/converter -g20 -wb kron20.wsg
  PEERS/converter -u20 -b urand20.sg   # uniform
  superstep convert rmat:scale=20 rmat20.sg   # directed and skewed
  awk 'BEGIN { for (v = 0; v < 2250000; v++) {
    if (v % 1500 < 1499 && rand() >= .1) print v, v + 1, 1 + int(255 * rand())
    if (v < 2248500 && rand() >= .1) print v, v + 1500, 1 + int(255 * rand()) } }' > road1500.wel
  PEERS/converter -f road1500.wel -s -b road1500.sg   # a lattice with holes
  PEERS/converter -f road1500.wel -s -wb road1500.wsg
  go -C lab run . beside $PWD/PEERS $PWD/kron20.sg $PWD/kron20.wsg $PWD/urand20.sg $PWD/road1500.sg`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("expected a folder with the programs of GAPBS, and one graph or more")
			}
			for _, file := range args[1:] {
				if ext := filepath.Ext(file); ext != ".sg" && ext != ".wsg" {
					return usagef("%s: expected a serialized graph, .sg or .wsg", file)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Rounds < 1 || c.Trials < 2 || c.Threads < 1 {
				return usagef(
					"expected --rounds and --threads of 1 or more, and --trials of 2 or more")
			}
			for _, a := range algorithms {
				if !slices.Contains(beside.Algorithms, a) {
					return usagef("--algorithms: there is no %q, expected some of %v", a,
						beside.Algorithms)
				}
			}
			own, err := os.Executable()
			if err != nil {
				return err
			}
			c.Peers, c.Ours = args[0], []string{own, trialsCommand}
			out := report(json)
			fmt.Fprintf(out, "%s; medians of %d rounds of %d trials\n\n%s\n",
				beside.Machine(c.Threads),
				c.Rounds, c.Trials, beside.Title)
			var rows []*beside.Row
			for _, file := range args[1:] {
				for _, a := range algorithms {
					if !beside.Fits(file, a) {
						continue
					}
					row, err := c.Compare(cmd.Context(), file, a)
					if err != nil {
						return fmt.Errorf("beside: %w", err)
					}
					fmt.Fprintln(out, row)
					rows = append(rows, row)
				}
			}
			return writeJSON(json, rows)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&algorithms, "algorithms", beside.Algorithms,
		"the algorithms to run, a `LIST`")
	f.IntVar(&c.Rounds, "rounds", 3, "start each program `N` times, alternately")
	f.IntVar(&c.Trials, "trials", 9, "run `N` trials in each process")
	f.IntVar(&c.Threads, "threads", runtime.GOMAXPROCS(0), "run both sides with `N` threads")
	f.StringVar(&json, "json", "", "write the results as JSON to `FILE`, - for standard output")
	return cmd
}

// trialsCmd is the command that beside starts.
func trialsCmd() *cobra.Command {
	return &cobra.Command{
		Use: trialsCommand + " FILE ALGORITHM TRIALS THREADS", Hidden: true,
		Args: cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[2])
			if err != nil {
				return err
			}
			threads, err := strconv.Atoi(args[3])
			if err != nil {
				return err
			}
			return beside.Trials(cmd.Context(), cmd.OutOrStdout(), args[0], args[1], n, threads)
		},
	}
}
