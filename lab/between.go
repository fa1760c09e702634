package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/lab/between"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/test/hosts/netns"
)

// betweenCommand is the command `lab between`.
type betweenCommand struct {
	workers, threads, repeat   int
	rate, network, grid, graph string
	delay                      time.Duration
	params, ways               []string
	directed, undirected       bool
	compress, json             string
	compare, steps             bool
	bytes                      float64 // per second
	limit                      time.Duration
}

func betweenCmd() *cobra.Command {
	b := &betweenCommand{}
	cmd := &cobra.Command{
		Use:   "between PROGRAM --graph FILE|GENERATOR --way SWITCHES --way SWITCHES",
		Short: "Compare delivery settings between worker processes on a network with limited bandwidth and delay",
		Long: `Run a program with several settings, in turn, on a cluster of worker processes. Print the time and
the traffic of each phase of a superstep. The command starts the workers in network namespaces that
are joined by a switch. The link of each worker has the rate in both directions (tbf of tc). A
program between two TAP devices adds the delay, because many kernels lack netem. This needs no root
if users may create namespaces. Without namespaces the workers use loopback, and their processes slow
down the connections; the report names the network. Ctrl-C ends all processes, and so does the end of
this process.

A way is a list of switches of lab run, joined by commas: delivery=auto|push|naive|mirrored|lalp|pull|whole|ring,
encoding=auto|all|bitmap|sparse, combine=on|off, overlap=on|off. The results of all ways must be
equal, and numbers must agree within 1e-9. Otherwise the exit status is 1.

The time of a phase is the mean over the partitions and the median over the rounds. Bytes are the
bytes of frames. Bytes on the wire are the bytes on the workers' links, with all headers and the
traffic to the master. Loopback does not report them. A message that was sent ahead of its superstep
counts in that superstep.`,
		Example: `  go -C lab run . between pagerank --graph kronecker:scale=18 -p iterations=10 --delay 1ms --way overlap=on --way overlap=off
  go -C lab run . between bfs --graph kronecker:scale=18 -p source=1 -p output=level --rate 100mbit --way delivery=auto --way delivery=naive
  go -C lab run . between pagerank --graph rmat:scale=20,a=0.45,b=0.15,c=0.15 -p iterations=10 --workers 4 \
    --way delivery=naive,combine=off --way delivery=pull,encoding=bitmap --way delivery=mirrored`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected the name of one program, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return b.execute(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&b.graph, "graph", "g", "",
		"the `GRAPH`: a file, or a generator such as kronecker:scale=18")
	f.StringArrayVarP(&b.params, "param", "p", nil,
		"a parameter of the program, `KEY=VALUE`; may be given again")
	f.StringArrayVar(&b.ways, "way", []string{"overlap=on", "overlap=off"},
		"a way to run the program, `SWITCHES`; may be given again")
	f.BoolVar(&b.directed, "directed", false, "edges point from the first vertex to the second")
	f.BoolVar(&b.undirected, "undirected", false, "edges join both ways")
	f.IntVar(&b.workers, "workers", 4, "the number of worker processes, `N`")
	f.IntVar(&b.threads, "threads", 1, "use `N` threads in each worker")
	f.StringVar(&b.grid, "grid", "",
		"divide the graph into a grid of `RxC` partitions (default: Nx1 for N workers)")
	f.StringVar(&b.rate, "rate", "1gbit",
		"the rate of each worker's link in each direction, `RATE`: in kbit, mbit or gbit per second, or none")
	f.DurationVar(&b.delay, "delay", 0,
		"delay messages between two workers by `TIME` in each direction")
	f.StringVar(&b.network, "network", "auto",
		"namespaces, loopback, or auto: namespaces if possible")
	f.StringVar(&b.compress, "compress", "off", "compress messages: auto, on or off")
	f.IntVar(&b.repeat, "repeat", 5, "time `N` rounds")
	f.BoolVar(&b.compare, "compare", true, "compare the results of the ways")
	f.BoolVar(&b.steps, "steps", false, "report every superstep")
	f.DurationVar(&b.limit, "limit", 0, "give up after `TIME` (default: never)")
	f.StringVar(&b.json, "json", "", "write the report as JSON to `FILE`, - for standard output")
	return cmd
}

// Limits of flags.
const (
	mostBetween = 64
	mostDelay   = time.Second
	leastRate   = 1e4 // bytes per second
)

// bitRate parses a rate in bits per second, as tc does. It returns bytes per second, 0 for none.
func bitRate(text string) (float64, error) {
	if text == "none" {
		return 0, nil
	}
	for unit, bits := range map[string]float64{"kbit": 1e3, "mbit": 1e6, "gbit": 1e9} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			x, err := strconv.ParseFloat(number, 64)
			if rate := x * bits / 8; err == nil && rate >= leastRate && rate <= 1e12 {
				return rate, nil
			}
		}
	}
	return 0, usagef("--rate: found %q, expected none, or 80kbit or more, such as 100mbit or 1gbit",
		text)
}

// parseWay parses the options of a way.
func parseWay(text string) (between.Way, error) {
	o := &job.Options{}
	for s := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(s, "=")
		var err error
		switch key {
		case "delivery":
			o.Delivery = value
		case "encoding":
			o.Encoding = value
		case "combine":
			o.Uncombined, err = value == "off", oneOf("way "+text, value, "on", "off")
		case "overlap":
			o.Serial, err = value == "off", oneOf("way "+text, value, "on", "off")
		default:
			err = usagef("--way %s: there is no switch %q, expected delivery, encoding, combine or overlap", text, key)
		}
		if err != nil {
			return between.Way{}, err
		}
	}
	if _, err := resolve.Options(*o); err != nil {
		return between.Way{}, usagef("--way %s: %w", text, err)
	}
	return between.Way{Name: text, Options: o}, nil
}

// options checks the flags and returns the options of the run.
func (b *betweenCommand) options(name string) (o between.Options, err error) {
	p, err := builtin.Programs().Find(name)
	if err != nil {
		return o, usageError{err}
	}
	o = between.Options{Program: name, Parameters: map[string]string{}, Rounds: b.repeat, Compare: b.compare}
	for _, text := range b.params {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return o, usagef("-p %s: expected KEY=VALUE", text)
		}
		o.Parameters[key] = value
	}
	if err := engine.Check(p.Parameters, o.Parameters); err != nil {
		return o, usagef("%s: %w", name, err)
	}
	for _, text := range b.ways {
		w, err := parseWay(text)
		if err != nil {
			return o, err
		}
		o.Ways = append(o.Ways, w)
	}
	if b.grid != "" {
		g, err := graph.ParseGrid(b.grid)
		if err != nil {
			return o, usagef("--grid: %w", err)
		}
		o.Rows, o.Columns = g.Rows, g.Columns
	}
	if b.bytes, err = bitRate(b.rate); err != nil {
		return o, err
	}
	switch {
	case b.graph == "":
		return o, usagef("--graph is missing: a file, or a generator such as kronecker:scale=18")
	case b.directed && b.undirected:
		return o, usagef("--directed and --undirected: one of them")
	case b.workers < 2 || b.workers > mostBetween:
		return o, usagef("--workers: found %d, expected 2 to %d", b.workers, mostBetween)
	case o.Rows > 0 && o.Rows*o.Columns < b.workers:
		return o, usagef("--workers: found %d for %d partitions, expected at most one each",
			b.workers, o.Rows*o.Columns)
	case b.threads < 1 || b.threads > 1<<12:
		return o, usagef("--threads: found %d, expected 1 to %d", b.threads, 1<<12)
	case b.repeat < 1 || b.repeat > 1000:
		return o, usagef("--repeat: found %d, expected 1 to 1000", b.repeat)
	case b.delay < 0 || b.delay > mostDelay:
		return o, usagef("--delay: found %v, expected 0s to %v", b.delay, mostDelay)
	}
	o.Source = &job.Source{Input: b.graph}
	if b.directed || b.undirected {
		o.Source.Directed = &b.directed
	}
	if err := resolve.Loadable(b.graph); err != nil {
		return o, usageError{err}
	}
	if o.Source, err = resolve.Weighted(o.Source, p, o.Parameters); err != nil {
		return o, usageError{err}
	}
	return o, errors.Join(oneOf("network", b.network, "auto", "namespaces", "loopback"),
		oneOf("compress", b.compress, "auto", "on", "off"))
}

// cable returns the cable of a worker. The path between two workers has two cables.
func (b *betweenCommand) cable() netns.Cable {
	return netns.Cable{Rate: b.bytes, Delay: b.delay / 2}
}

func (b *betweenCommand) execute(ctx context.Context, name string) error {
	o, err := b.options(name)
	if err != nil {
		return err
	}
	if err := checkOutputs("--json", b.json); err != nil {
		return err
	}
	c := cluster.Cluster{Workers: b.workers, Threads: b.threads, Compress: b.compress, Command: process(workerCommand)}
	if _, err := os.Stat(b.graph); err == nil {
		c.Files = filepath.Dir(b.graph)
	}
	found := &between.Report{}
	switch enter, err := b.enter(ctx); {
	case err != nil:
		return err
	case enter:
		status, err := netns.Enter(ctx)
		if status != 0 {
			return statusError(status)
		}
		return err
	case netns.Inside():
		if c.Namespaces, err = netns.NewHub(b.cable()); err != nil {
			return err
		}
		defer c.Namespaces.Close()
		o.Carried = func() ([]netns.Traffic, error) { return c.Namespaces.Carried(b.workers) }
	default:
		c.Every = &cluster.Link{Delay: b.delay, Rate: b.bytes}
	}
	if b.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.limit,
			fmt.Errorf("not done after --limit %v", b.limit))
		defer cancel()
	}
	stage := showStage()
	o.Stage = func(name string) { stage(name, 0, 0) }
	err = c.Run(ctx, func(ctx context.Context, address string, token control.Token) (err error) {
		found, err = o.Run(ctx, address, token)
		return err
	})
	if err != nil {
		return fmt.Errorf("between: %w", err)
	}
	found.Workers, found.Threads, found.Rate, found.Delay = b.workers, b.threads, b.bytes,
		b.delay.Seconds()
	if found.Network = "loopback"; c.Namespaces != nil {
		found.Network = "namespaces"
	}
	if err := found.Text(report(b.json), b.steps); err != nil {
		return err
	}
	return writeJSON(b.json, found)
}

// enter reports whether the caller must run this program again in namespaces. It does not run it.
func (b *betweenCommand) enter(ctx context.Context) (bool, error) {
	if netns.Inside() || b.network == "loopback" {
		return false, nil
	}
	err := netns.Refused(ctx, tryCommand, b.rate, b.delay.String())
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case b.network == "namespaces":
		return false, fmt.Errorf("no network namespaces: %w", err)
	}
	fmt.Fprintf(os.Stderr, "lab: no network namespaces (%s): workers on loopback, slowed down\n",
		strings.ReplaceAll(err.Error(), "\n", "; "))
	return false, nil
}

// tryCommand is the hidden command that tests whether namespaces can be made.
const tryCommand = "try-namespaces"

func tryCmd() *cobra.Command {
	return &cobra.Command{
		Use: tryCommand + " RATE DELAY", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			rate, err := bitRate(args[0])
			if err != nil {
				return err
			}
			delay, err := time.ParseDuration(args[1])
			if err != nil {
				return err
			}
			return netns.Try(netns.Cable{Rate: rate, Delay: delay / 2})
		},
	}
}
