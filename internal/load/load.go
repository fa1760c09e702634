// Package load opens a graph by its name as a list of tuples: a file, a generator or a snapshot. It
// also builds the graph from the tuples in this process. It stands between package graphio, which
// reads files, and packages graph and build. Read load.go first, then built.go.
package load

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// Request selects a graph and how to open it.
type Request struct {
	// Name is the path of a file, of several files (see graphio.Files), a generator such as
	// "kronecker:scale=20", or the place of a snapshot.
	Name string
	// Format is the format of a file; empty means to detect it.
	Format graphio.Format
	// Directed, if not nil, overrides the direction given by the file or generator.
	Directed *bool
	// Weights is the wanted type of weights; Unweighted drops them.
	Weights edges.Weights
	// IfAny makes weights optional; generators then make none.
	IfAny bool
	// Beside, if not nil, returns the number of bytes that must remain available besides a
	// generated list, for the graph made from it.
	Beside func(vertices uint64, tuples int, directed bool) int64
	// MaxExpand is the limit for the expanded size of a compressed file in bytes; 0 means the
	// default of package graphio.
	MaxExpand int64
	// Columns are the columns of a table, a file of CSV or TSV.
	Columns graphio.Columns
	// SkipBad is the number of malformed lines of a file that may be skipped.
	SkipBad int
	// Within is the file of a vertex set: only this part of the graph is built. Only Build supports
	// it.
	Within string
	Team   *parallel.Team
	// Progress, if not nil, is called with the current stage and its progress.
	Progress func(stage string, done, total int64)
}

// Open reads or generates the tuples. The caller closes the input.
func Open(ctx context.Context, r Request) (*edges.Input, error) {
	in, err := r.open(ctx)
	if err == nil && r.Directed != nil {
		in.Directed = *r.Directed
	}
	return in, err
}

func (r Request) open(ctx context.Context) (*edges.Input, error) {
	if generate.IsGenerator(r.Name) {
		return r.generate(ctx)
	}
	if snapshot.Is(r.Name) {
		g, m, err := r.openSnapshot(ctx)
		if err != nil {
			return nil, err
		}
		in := inputOf(g, m)
		in.Free = g.Close
		return in, nil
	}
	in, err := graphio.Read(ctx, r.Name, r.options())
	if err != nil {
		return nil, err
	}
	return in, r.weighted(in)
}

// OpenRank reads or generates a rank's part of the tuples. Generated tuples are made when they are
// read. The caller closes the result.
func OpenRank(ctx context.Context, r Request, rank, ranks int) (*edges.RankInput, error) {
	if r.Within != "" {
		return nil, ErrWithin
	}
	if generate.IsGenerator(r.Name) {
		g, o, err := r.generator()
		if err != nil {
			return nil, err
		}
		s, err := generate.RankInput(ctx, g, rank, ranks, true, o)
		if err == nil && r.Directed != nil {
			s.Directed = *r.Directed
		}
		return s, err
	}
	if snapshot.Is(r.Name) {
		return r.snapshotRank(ctx, rank, ranks)
	}
	s, err := graphio.ReadRank(ctx, r.Name, rank, ranks, r.options())
	if err != nil {
		return nil, err
	}
	return s, r.weighted(&s.Input)
}

func (r Request) options() graphio.ReadOptions {
	return graphio.ReadOptions{
		Format: r.Format, Directed: r.Directed, Team: r.Team, MaxExpand: r.MaxExpand,
		Progress: r.stage("reading " + r.Name), Weights: r.Weights, Columns: r.Columns,
		SkipBad: r.SkipBad,
	}
}

// weighted returns an error, and closes the input, if it lacks the wanted weights.
func (r Request) weighted(in *edges.Input) error {
	if r.Weights != edges.Unweighted && !r.IfAny && !in.Edges.Weighted() {
		in.Close()
		return r.weightless()
	}
	return nil
}

func (r Request) weightless() error {
	if graphio.Tabular(r.Name, string(r.Format)) {
		return fmt.Errorf("%s: no column has weights: name one (--weight-column), or --unit-weights makes every weight 1", r.Name)
	}
	return fmt.Errorf("%s: the edges have no weights: give a weighted graph, or --unit-weights to make every weight 1", r.Name)
}

func (r Request) generate(ctx context.Context) (*edges.Input, error) {
	g, o, err := r.generator()
	if err != nil {
		return nil, err
	}
	if r.Beside != nil {
		directed := g.Directed()
		if r.Directed != nil {
			directed = *r.Directed
		}
		o.Beside = r.Beside(g.Vertices(), g.Edges(), directed)
	}
	return generate.Input(ctx, g, o)
}

// generator returns the generator in the name, and its options.
func (r Request) generator() (generate.Generator, generate.Options, error) {
	if r.Format != "" {
		return nil, generate.Options{},
			fmt.Errorf("%s: a generator has no format: --format %s is for files", r.Name, r.Format)
	}
	g, err := generate.Parse(r.Name)
	weights := r.Weights
	if r.IfAny {
		weights = edges.Unweighted
	}
	return g, generate.Options{Weights: weights, Team: r.Team, Progress: r.stage("generating " +
		r.Name)}, err
}

func (r Request) stage(name string) func(done, total int64) {
	if r.Progress == nil {
		return nil
	}
	return func(done, total int64) { r.Progress(name, done, total) }
}
