// Command lab is for experiments. It is not part of the product: nothing imports it. It repeats the
// papers' experiments on this engine, predicts searches on other machines, runs programs with
// options for comparisons, in this process or between network namespaces, runs NAS Parallel
// Benchmarks, and measures the barrier between supersteps.
//
//	go -C lab run . experiment switch
//	go -C lab run . model --scale 40 --grid 320x288
//	go -C lab run . run bfs --graph kronecker:scale=18 -p source=1 --overlap off
//	go -C lab run . between pagerank --graph kronecker:scale=18 --delay 1ms
//	go -C lab run . nas-cg --class A
//	go -C lab run . nas-is --class A --ranks 4
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/parallel"
)

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit status: 0 for success, 1 for a failure, 2 for a wrong command line.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:   "lab",
		Short: "Repeat experiments of the papers, predict run times, and compare settings",
		Example: `  go -C lab run . experiment switch
  go -C lab run . model --scale 40 --grid 320x288
  go -C lab run . run bfs --graph kronecker:scale=18 -p source=1 --overlap off
  go -C lab run . between pagerank --graph kronecker:scale=18 --delay 1ms
  go -C lab run . nas-cg --class A
  go -C lab run . nas-is --class A --ranks 4`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(experimentCmd(), modelCmd(), runCmd(), nasCGCmd(), nasISCmd(), nasFTCmd(),
		nasSitesCmd(), sitesCmd(), cgModelCmd(), cgTimeCmd(), workerCmd(), betweenCmd(), tryCmd(),
		barrierCmd(),
		besideCmd(), trialsCmd())
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	var status statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "lab: interrupted")
	default:
		fmt.Fprintln(os.Stderr, "lab:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// statusError is the exit status of a process that did the work and has reported its error.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// noArguments refuses any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, found %q", cmd.Name(), args[0])
	}
	return nil
}

// newTeam returns the threads of flag --threads.
func newTeam(threads int) (*parallel.Team, error) {
	if threads < 1 || threads > 1<<12 {
		return nil, usagef("--threads: found %d, expected 1 to %d", threads, 1<<12)
	}
	return parallel.NewTeam(threads, threads <= runtime.NumCPU()), nil
}

// report returns where the text report goes: standard output, or standard error if a file named -
// uses that.
func report(paths ...string) io.Writer {
	if slices.Contains(paths, "-") {
		return os.Stderr
	}
	return os.Stdout
}

// writeTo writes a file if path is not empty. - means standard output.
func writeTo(path string, write func(io.Writer) error) error {
	switch path {
	case "":
		return nil
	case "-":
		return write(os.Stdout)
	}
	return graphio.WriteFile(context.Background(), path, 0o666, 1, write)
}

// writeJSON writes a value to a file if path is not empty.
func writeJSON(path string, value any) error {
	return writeTo(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(value)
	})
}

// checkOutputs checks before long work that all files can be written and that none is given twice.
// names alternates flags and files.
func checkOutputs(names ...string) error {
	seen := map[string]string{}
	for i := 0; i < len(names); i += 2 {
		flag, path := names[i], names[i+1]
		if path == "" {
			continue
		}
		if other, ok := seen[path]; ok {
			return usagef("%s and %s are both %s", other, flag, path)
		}
		if seen[path] = flag; path == "-" {
			continue
		}
		if err := graphio.Writable(path); err != nil {
			return err
		}
	}
	return nil
}

// oneOf returns an error unless a flag's value is one of these words.
func oneOf(flag, value string, words ...string) error {
	if !slices.Contains(words, value) {
		return usagef("--%s: found %q, expected one of %s", flag, value, strings.Join(words, ", "))
	}
	return nil
}

// changed returns the first of these flags that was given.
func changed(flags *pflag.FlagSet, names ...string) (string, bool) {
	i := slices.IndexFunc(names, flags.Changed)
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// showStage returns a progress function that writes the name of each stage to standard error once.
func showStage() func(stage string, done, total int64) {
	last := ""
	return func(stage string, _, _ int64) {
		if stage != last {
			last = stage
			fmt.Fprintln(os.Stderr, "lab:", stage)
		}
	}
}
