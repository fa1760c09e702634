// Package load opens a graph by its name, a file or a generator's text, as a list of tuples; package graph builds it.
package load

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Request says what to open, and how.
type Request struct {
	// Name is a file's path, or a generator such as "kronecker:scale=20".
	Name string
	// Format is a file's format; empty means to find out.
	Format graphio.Format
	// Directed overrides what the file or generator says, if not nil.
	Directed *bool
	// Weights is the type weights are wanted in; Unweighted drops them.
	Weights edges.Weights
	// IfAny wants weights only where there are any; generators then make none.
	IfAny bool
	// Beside, if not nil, returns how many bytes must be available beside a generated list, for what is made of it.
	Beside func(vertices uint64, tuples int, directed bool) int64
	// MaxExpand is how many bytes a compressed file may expand to; 0 is the default of package graphio.
	MaxExpand int64
	Team      *parallel.Team
	// Progress, if not nil, is told what is being done and how much of it.
	Progress func(stage string, done, total int64)
}

// Open reads or generates the tuples. The caller closes the input.
func Open(ctx context.Context, r Request) (*edges.Input, error) {
	if generate.IsGenerator(r.Name) {
		return r.generate(ctx)
	}
	in, err := graphio.Read(ctx, r.Name, graphio.ReadOptions{
		Format: r.Format, Directed: r.Directed, Team: r.Team, MaxExpand: r.MaxExpand, Progress: r.stage("reading " + r.Name), Weights: r.Weights,
	})
	if err != nil {
		return nil, err
	}
	if r.Weights != edges.Unweighted && !r.IfAny && !in.Edges.Weighted() {
		in.Close()
		return nil, fmt.Errorf("%s: the edges have no weights: give a weighted graph, or --unit-weights to make every weight 1", r.Name)
	}
	return in, nil
}

func (r Request) generate(ctx context.Context) (*edges.Input, error) {
	if r.Format != "" {
		return nil, fmt.Errorf("%s: a generator has no format: --format %s is of files", r.Name, r.Format)
	}
	g, err := generate.Parse(r.Name)
	if err != nil {
		return nil, err
	}
	weights := r.Weights
	if r.IfAny {
		weights = edges.Unweighted
	}
	o := generate.Options{Weights: weights, Team: r.Team, Progress: r.stage("generating " + r.Name)}
	if r.Beside != nil {
		directed := g.Directed()
		if r.Directed != nil {
			directed = *r.Directed
		}
		o.Beside = r.Beside(g.Vertices(), g.Edges(), directed)
	}
	in, err := generate.Input(ctx, g, o)
	if err != nil {
		return nil, err
	}
	if r.Directed != nil {
		in.Directed = *r.Directed
	}
	return in, nil
}

func (r Request) stage(name string) func(done, total int64) {
	if r.Progress == nil {
		return nil
	}
	return func(done, total int64) { r.Progress(name, done, total) }
}
