package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/pregel"
)

// runCommand is the command `lab run`.
type runCommand struct {
	graph, grid                                  string
	params                                       []string
	delivery, encoding, combine, overlap, number string
	directed, undirected, deterministic          bool
	threads, repeat                              int
	json                                         string
}

// runReport is the result of `lab run`: medians over rounds.
type runReport struct {
	Program    string  `json:"program"`
	Graph      string  `json:"graph"`
	Grid       string  `json:"grid"`
	Delivery   string  `json:"delivery"`
	Encoding   string  `json:"encoding"`
	Combine    string  `json:"combine"`
	Overlap    string  `json:"overlap"`
	Numbering  string  `json:"numbering"`
	Threads    int     `json:"threads"`
	Supersteps int     `json:"supersteps"`
	Messages   int     `json:"messages"`
	Sent       int     `json:"messages_sent"`
	Bytes      int     `json:"bytes_sent"`
	Seconds    float64 `json:"seconds"` // median over rounds
	Least      float64 `json:"seconds_least"`
	Most       float64 `json:"seconds_most"`
	Rounds     int     `json:"rounds"`
}

func runCmd() *cobra.Command {
	r := &runCommand{}
	cmd := &cobra.Command{
		Use:   "run PROGRAM --graph FILE|GENERATOR",
		Short: "Time a program with single optimizations turned off",
		Long: `Time bfs, sssp, pagerank or wcc in this process, with single optimizations of the engine turned off:
the choice of the encoding of senders in columns (--encoding), combining before sending (--combine off,
Ueno13's naive delivery), the overlap of communication and computation (--overlap off, Ueno11 4.2), the
numbering of vertices by decreasing degree (--numbering input, Nakao20 3.2), and the model's choice of
the direction (--delivery beamer, Beamer 2012). The result equals that of superstep run. The command
does not write it.`,
		Example: `  go -C lab run . run bfs --graph kronecker:scale=18 -p source=1 --grid 2x2 --overlap off
  go -C lab run . run pagerank --graph kronecker:scale=18 -p iterations=10 --grid 4x1 --encoding bitmap
  go -C lab run . run wcc --graph rmat:scale=16 --grid 4x1 --combine off`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected the name of one program: %s",
					strings.Join(programNames(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.execute(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&r.graph, "graph", "g", "",
		"the `GRAPH`: a file, or a generator such as kronecker:scale=18")
	f.StringArrayVarP(&r.params, "param", "p", nil,
		"a parameter of the program, `KEY=VALUE`; may be given again")
	f.BoolVar(&r.directed, "directed", false, "edges point from the first vertex to the second")
	f.BoolVar(&r.undirected, "undirected", false, "edges join both ways")
	f.StringVar(&r.grid, "grid", "1x1", "divide the graph into a grid of `RxC` partitions")
	f.IntVar(&r.threads, "threads", runtime.GOMAXPROCS(0), "use `N` threads")
	f.StringVar(&r.delivery, "delivery", "auto",
		"auto, push, naive, mirrored, lalp, pull, whole, ring, or beamer: Beamer's rule")
	f.StringVar(&r.encoding, "encoding", "auto",
		"the encoding of the senders in a column: auto, all, bitmap or sparse")
	f.StringVar(&r.combine, "combine", "on", "on, or off to send all messages uncombined")
	f.StringVar(&r.overlap, "overlap", "on",
		"on, or off to send and receive messages one after the other")
	f.StringVar(&r.number, "numbering", "degree",
		"the order of the vertices: degree (decreasing) or input")
	f.BoolVar(&r.deterministic, "deterministic", false,
		"make results independent of threads, partitions and delivery")
	f.IntVar(&r.repeat, "repeat", 5, "time `N` rounds")
	f.StringVar(&r.json, "json", "", "write the report as JSON to `FILE`, - for standard output")
	return cmd
}

// program is a program of `lab run`.
type program struct {
	parameters []engine.Parameter
	fresh      func(values map[string]string,
		find func(uint64) (pregel.VertexID, bool)) (*engine.Program, error)
}

func newProgram[V, M any](p pregel.Program[V, M]) program {
	return program{engine.Parameters(p), func(values map[string]string,
		find func(uint64) (pregel.VertexID, bool),
	) (*engine.Program, error) {
		made, err := engine.Fresh(pregel.Erase(p), values, find)
		if err != nil {
			return nil, err
		}
		return engine.NewProgram(made)
	}}
}

var programs = map[string]program{
	"bfs":      newProgram(algorithms.BFS{}),
	"sssp":     newProgram(algorithms.SSSP[float64]{}),
	"pagerank": newProgram(algorithms.PageRank{}),
	"wcc":      newProgram(algorithms.WCC{}),
}

func programNames() []string { return slices.Sorted(maps.Keys(programs)) }

// options returns the engine's options from the flags.
func (r *runCommand) options() (o engine.Options, err error) {
	if o.Delivery, err = delivery.ParseChoice(r.delivery); err != nil {
		return o, usagef("--delivery: %w", err)
	}
	if o.Encoding, err = delivery.ParseEncoding(r.encoding); err != nil {
		return o, usagef("--encoding: %w", err)
	}
	o.Uncombined, o.Serial, o.Deterministic = r.combine == "off", r.overlap == "off",
		r.deterministic
	return o, errors.Join(oneOf("combine", r.combine, "on", "off"),
		oneOf("overlap", r.overlap, "on", "off"),
		oneOf("numbering", r.number, "degree", "input"))
}

func (r *runCommand) execute(ctx context.Context, name string) error {
	known, ok := programs[name]
	if !ok {
		return usagef("there is no program %q: the programs are %s", name,
			strings.Join(programNames(), ", "))
	}
	values := map[string]string{}
	for _, p := range r.params {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return usagef("-p %s: expected KEY=VALUE", p)
		}
		values[key] = value
	}
	if err := engine.Check(known.parameters, values); err != nil {
		return usagef("%s: %w", name, err)
	}
	grid, err := graph.ParseGrid(r.grid)
	if err != nil {
		return usagef("--grid: %w", err)
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	switch {
	case r.graph == "":
		return usagef("--graph is missing: a file, or a generator such as kronecker:scale=18")
	case r.directed && r.undirected:
		return usagef("--directed and --undirected: one of them")
	case r.repeat < 1 || r.repeat > 1000:
		return usagef("--repeat: found %d, expected 1 to 1000", r.repeat)
	}
	if err := checkOutputs("--json", r.json); err != nil {
		return err
	}
	if o.Team, err = newTeam(r.threads); err != nil {
		return err
	}
	defer o.Team.Close()
	form, err := known.fresh(values, nil)
	if err != nil {
		return usageError{err}
	}
	if err := engine.CheckOnCluster(ctx, form, o, grid); err != nil {
		return usageError{err}
	}
	g, err := r.load(ctx, form, grid, o)
	if err != nil {
		return err
	}
	defer g.Close()
	found, err := known.fresh(values, g.Find)
	if err != nil {
		return fmt.Errorf("%s: %w", r.graph, err)
	}
	return r.measure(ctx, name, found, g, o)
}

// load loads and builds the graph.
func (r *runCommand) load(
	ctx context.Context, p *engine.Program, grid graph.Grid, o engine.Options,
) (*graph.Graph, error) {
	request := load.Request{Name: r.graph, Team: o.Team, Progress: showStage(), Weights: p.Weights()}
	if r.directed || r.undirected {
		request.Directed = &r.directed
	}
	in, err := load.Open(ctx, request)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	options := graph.Options{Grid: grid, Weights: p.Weights(), InputOrder: r.number == "input", Team: o.Team}
	if p.Weights() != edges.Unweighted && !in.Edges.Weighted() {
		return nil, fmt.Errorf("%s: %s wants weights, and the edges have none", r.graph, p.Name())
	}
	return build.Local(ctx, in, options)
}

// measure runs the program once to warm up, and then for the given number of rounds.
func (r *runCommand) measure(
	ctx context.Context, name string, p *engine.Program, g *graph.Graph, o engine.Options,
) error {
	job, err := p.Bind(ctx, g, o)
	if err != nil {
		return err
	}
	defer job.Close()
	var outcome *bsp.Outcome
	var seconds []float64
	for i := -1; i < r.repeat; i++ {
		start := time.Now()
		if outcome, err = job.Run(ctx); err != nil {
			return err
		}
		if i >= 0 {
			seconds = append(seconds, time.Since(start).Seconds())
		}
	}
	slices.Sort(seconds)
	found := &runReport{
		Program: name, Graph: r.graph, Grid: g.Options.Grid.String(), Delivery: r.delivery,
		Encoding: r.encoding, Combine: r.combine,
		Overlap: r.overlap, Numbering: r.number, Threads: o.Team.Size(),
		Supersteps: outcome.Supersteps, Messages: outcome.Messages,
		Sent: outcome.Sent, Bytes: outcome.Bytes, Seconds: seconds[len(seconds)/2],
		Least: seconds[0], Most: seconds[len(seconds)-1],
		Rounds: len(seconds),
	}
	fmt.Fprintf(report(r.json),
		"%s on %s, grid %s: %d supersteps, %d messages, %d values and %d bytes between partitions\n%.4g s (%.4g to %.4g, %d rounds)\n",
		name, r.graph, found.Grid, found.Supersteps, found.Messages, found.Sent, found.Bytes,
		found.Seconds, found.Least, found.Most, found.Rounds)
	return writeJSON(r.json, found)
}
