package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/lab/nas"
)

// rankFlags are the flags of benchmarks with collectives.
type rankFlags struct {
	class, json string
	ranks       int
}

func (r *rankFlags) define(f *pflag.FlagSet, ranks int) {
	f.SortFlags = false
	f.StringVar(&r.class, "class", "S", "the problem size, `CLASS` "+nas.ClassNames())
	f.IntVar(&r.ranks, "ranks", ranks, "the number of ranks, `N`")
	r.defineRest(f)
}

// defineRest defines the flags that do not concern the size.
func (r *rankFlags) defineRest(f *pflag.FlagSet) {
	f.StringVar(&r.json, "json", "", "write the report as JSON to `FILE`, - for standard output")
}

// check checks the flags and returns their meaning.
func (r *rankFlags) check() (class nas.Class, at nas.Place, err error) {
	if class, err = findClass(r.class); err != nil {
		return class, at, err
	}
	if r.ranks < 1 || r.ranks > mostProcesses {
		return class, at, usagef("--ranks: found %d, expected 1 to %d", r.ranks, mostProcesses)
	}
	at.Ranks = r.ranks
	stage := showStage()
	at.Stage = func(name string, done, all int) { stage(name, int64(done), int64(all)) }
	return class, at, checkOutputs("--json", r.json)
}

func nasISCmd() *cobra.Command {
	r := &rankFlags{}
	cmd := &cobra.Command{
		Use:   "nas-is --class S",
		Short: "Run IS of the NAS Parallel Benchmarks by collectives",
		Long: `Run IS of the NAS Parallel Benchmarks (NPB 3.4): rank integer keys in ten iterations. An iteration
sorts the keys into buckets and sends the buckets to the ranks of a group by alltoall. In each
iteration the ranks of five keys must equal the published ones. At the end all keys must be sorted.
Otherwise the exit status is 1. Mop/s are millions of ranked keys per second. As in NPB, they exclude
the generation of the keys and a first iteration.

Ranks connect by TCP over loopback. The command first measures the time of messages between them, and
chooses the alltoall algorithm by it.`,
		Example: `  go -C lab run . nas-is --class A
  go -C lab run . nas-is --class S --ranks 5
  go -C lab run . nas-is --class W --ranks 2 --json is.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			class, at, err := r.check()
			if err != nil {
				return err
			}
			result, err := nas.RunIS(cmd.Context(), class, at)
			if err != nil {
				return fmt.Errorf("nas-is: %w", err)
			}
			return tell(cmd.Name(), r.json, result, result.Verified)
		},
	}
	r.define(cmd.Flags(), 4)
	return cmd
}

func nasFTCmd() *cobra.Command {
	r := &rankFlags{}
	cmd := &cobra.Command{
		Use:   "nas-ft --class S",
		Short: "Run FT of the NAS Parallel Benchmarks by collectives",
		Long: `Run FT of the NAS Parallel Benchmarks (NPB 3.4): solve a diffusion equation in three dimensions by
Fourier transforms, in six iterations. Each iteration transforms back, which exchanges all values
between the ranks by alltoall. The checksum of each iteration must agree with the published one within
1e-12. Otherwise the exit status is 1. Mop/s follow NPB's formula.

Ranks connect by TCP over loopback, as in nas-is.`,
		Example: `  go -C lab run . nas-ft --class W
  go -C lab run . nas-ft --class S --ranks 5 --json ft.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			class, at, err := r.check()
			if err != nil {
				return err
			}
			result, err := nas.RunFT(cmd.Context(), class, at)
			if err != nil {
				return fmt.Errorf("nas-ft: %w", err)
			}
			return tell(cmd.Name(), r.json, result, result.Verified)
		},
	}
	r.define(cmd.Flags(), 4)
	return cmd
}
