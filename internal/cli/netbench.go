package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/netbench"
)

// netbenchCommand is `superstep netbench`.
type netbenchCommand struct {
	app *app
	run runFlags
	of  netbenchFlags
}

// netbenchFlags select the measurements.
type netbenchFlags struct {
	job.Netbench
	Workers int    `flag:"workers" group:"run" default:"4" range:"2..64" help:"measure between {N} workers; on a cluster: wait until N workers are registered"`
	Lengths string `flag:"sizes" group:"run" default:"1B..4MiB" help:"the {LIST} of message sizes, such as 1KiB,64KiB,1MiB; 1KiB..1MiB goes by factors of 4"`
	Some    string `flag:"collectives" group:"run" help:"measure only collectives in {NAMES}, of "`
	JSON    string `flag:"json" group:"output" help:"write JSON to {FILE}, - for standard output"`
	SVG     string `flag:"svg" group:"output" help:"draw time and bandwidth by size in {FILE}"`
}

func (a *app) netbench() *cobra.Command {
	n := &netbenchCommand{app: a}
	cmd := &cobra.Command{
		Use:   "netbench",
		Short: "Measure messages and collectives between workers",
		Long: `Measure messages and collectives between workers, with each algorithm at
each size, and compare them with the predictions of the model that chooses the algorithm. The
workers are parts of this process, connected as workers on one machine are.

With --master it is a job of a cluster and measures between all its workers. The algorithm "sites"
first combines the workers of one site (superstep worker --site), then the sites. The last worker
must let the first connect to a free port for raw TCP. Ctrl-C cancels the job. Once it is
submitted, Ctrl-\ (SIGQUIT) detaches from it. superstep watch prints the report of a job that was
submitted with --detach.

First each pair of workers fits T = alpha n + beta, the time of a message of n bytes. Then each
collective is measured and compared with the prediction from the pairs. Messages from the first
worker to the last, alone and in a stream, take turns with a raw TCP connection.`,
		Example: `  superstep netbench
  superstep netbench --workers 2 --collectives point-to-point,stream --sizes 64KiB..16MiB
  superstep netbench --workers 8 --collectives allreduce --svg allreduce.svg --json allreduce.json
  superstep netbench --master 10.0.0.1:7700 --token-file token --svg network.svg`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return n.execute(cmd.Context()) },
	}
	flagsOf(cmd, &n.of)
	cmd.Flags().Lookup("collectives").Usage += strings.Join(words(known()), ", ")
	n.run.flags = cmd.Flags()
	n.run.cluster.define(cmd)
	_ = cmd.RegisterFlagCompletionFunc("collectives",
		cobra.FixedCompletions(words(known()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// known returns the measurements that exist.
func known() []collective.Collective {
	return append([]collective.Collective{netbench.PointToPoint, netbench.Stream},
		collective.Collectives...)
}

func words[S ~string](list []S) (all []string) {
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

// spec makes the job that the command line describes.
func (n *netbenchCommand) spec() (*job.Spec, error) {
	sizes, err := parseSizes(n.of.Lengths)
	if err != nil {
		return nil, usagef("--sizes: %w", err)
	}
	measure := &job.Netbench{Algorithm: n.of.Algorithm, Repetitions: n.of.Repetitions, Sizes: sizes}
	if n.of.Some != "" {
		for name := range strings.SplitSeq(n.of.Some, ",") {
			measure.Collectives = append(measure.Collectives, strings.TrimSpace(name))
		}
	}
	spec := &job.Spec{Program: control.NetbenchProgram, Netbench: measure}
	if err := resolve.CheckNetbench(nil, spec, graph.Grid{}); err != nil {
		return nil, usageError{err}
	}
	return spec, nil
}

// parseSizes parses a list of sizes and ranges. It returns them sorted.
func parseSizes(list string) ([]uint64, error) {
	var sizes []uint64
	for item := range strings.SplitSeq(list, ",") {
		from, to, ok := strings.Cut(item, "..")
		if !ok {
			to = from
		}
		var low, high job.Size
		err := cmp.Or(low.UnmarshalText([]byte(strings.TrimSpace(from))),
			high.UnmarshalText([]byte(strings.TrimSpace(to))))
		if err != nil || low < 1 || high < low || high > netbench.MaxSize {
			return nil, fmt.Errorf("found %q, expected sizes from 1B to 1GiB, the lower one first",
				item)
		}
		for s := low; s <= high; s *= 4 {
			sizes = append(sizes, uint64(s))
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

func (n *netbenchCommand) execute(ctx context.Context) error {
	spec, err := n.spec()
	if err != nil {
		return err
	}
	err = n.run.place(n.run.cluster.wanted(n.run.flags), "json", "svg")
	if err != nil {
		return err
	}
	if n.of.SVG == "-" {
		return usagef("--svg -: expected the name of a file")
	}
	if err := apart("", "--json", n.of.JSON, "--svg", n.of.SVG); err != nil {
		return err
	}
	n.run.Workers, n.run.JSON, n.run.Threads = n.of.Workers, n.of.JSON, 1
	return n.run.perform(ctx, n.app, spec, resolve.CheckNetbench,
		func(ctx context.Context, to runner, seen *observer) error {
			report, err := to.netbench(ctx, spec)
			if err != nil {
				return err
			}
			seen.done()
			return n.write(ctx, report)
		}, n.of.SVG)
}

func (n *netbenchCommand) write(ctx context.Context, report *netbench.Report) error {
	if err := report.Text(n.app.reportTo(n.of.JSON)); err != nil {
		return err
	}
	if err := n.app.writeJSON(ctx, n.of.JSON, report); err != nil {
		return err
	}
	return n.app.save(ctx, n.of.SVG, 0o666, 1,
		func(_ context.Context, w io.Writer) error { return report.Figure(w) })
}
