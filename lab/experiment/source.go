package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/pregel"
)

// source is the tuples of an undirected graph to search, in one layout or several.
type source struct {
	b         *bench
	in        *edges.Input
	validator *validate.Validator
	roots     []uint64 // input vertices
	parent    []uint32
}

// generated makes the tuples of a generator's text.
func (b *bench) generated(
	ctx context.Context, text string,
) (*edges.Input, generate.Generator, error) {
	g, err := generate.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	in, err := generate.Input(ctx, g, generate.Options{
		Team:     b.Team,
		Progress: func(done, total int64) { b.Progress("generating "+text, done, total) },
	})
	return in, g, err
}

// open makes a graph to be searched from this number of roots. It treats directed generators as
// undirected.
func (b *bench) open(ctx context.Context, text string, roots int) (*source, error) {
	in, g, err := b.generated(ctx, text)
	if err != nil {
		return nil, err
	}
	in.Directed = false
	validator, err := validate.New(ctx, collective.Alone(), 0, in.Edges, 0, in.Vertices, b.Team)
	if err != nil {
		in.Close()
		return nil, err
	}
	s := &source{b: b, in: in, parent: make([]uint32, in.Vertices), validator: validator}
	touched, err := touched(in)
	if err != nil {
		s.close()
		return nil, err
	}
	if k, ok := g.(generate.Kronecker); ok { // Graph500's generator
		s.roots = k.Roots(roots, func(v uint64) bool { return bitmap.Get(touched, uint32(v)) })
	} else { // evenly distributed
		for i := range roots {
			v := uint32(i * in.Vertices / roots)
			for ; int(v) < in.Vertices && !bitmap.Get(touched, v); v++ {
			}
			if int(v) < in.Vertices {
				s.roots = append(s.roots, uint64(v))
			}
		}
	}
	if len(s.roots) == 0 {
		s.close()
		return nil, fmt.Errorf("%s: no vertex has an edge to another", in.Name)
	}
	return s, nil
}

// touched returns the vertices with an edge other than a loop.
func touched(in *edges.Input) ([]uint64, error) {
	set := make([]uint64, bitmap.Words(in.Vertices))
	var block edges.Block
	for i := range edges.Blocks(in.Edges) {
		if err := in.Edges.Read(i, &block); err != nil {
			return nil, err
		}
		for j, u := range block.U[:block.N] {
			if v := block.V[j]; u != v {
				bitmap.Set(set, uint32(u))
				bitmap.Set(set, uint32(v))
			}
		}
	}
	return set, nil
}

func (s *source) close() {
	s.validator.Close()
	s.in.Close()
}

// build builds the graph in a layout, as Graph500's kernel 1 does.
func (s *source) build(ctx context.Context, o graph.Options) (*graph.Graph, error) {
	o.Duplicates, o.DropLoops, o.Team, o.Progress = graph.LeastDuplicate, true, s.b.Team,
		s.b.Progress
	return build.Local(ctx, s.in, o)
}

// searcher searches a graph with fixed options.
type searcher struct {
	source *source
	g      *graph.Graph
	job    *engine.Job
}

// searcher makes a searcher for a layout.
func (s *source) searcher(
	ctx context.Context, g *graph.Graph, o engine.Options,
) (*searcher, error) {
	o.Team = s.b.Team
	job, err := engine.NewJob(ctx, g, pregel.Erase(algorithms.BFS{}), o)
	if err != nil {
		return nil, err
	}
	return &searcher{s, g, job}, nil
}

func (x *searcher) close() { x.job.Close() }

// search searches from a root and validates the tree by Graph500's rules. It returns the time of
// the search alone, and the number of tuples in the component.
func (x *searcher) search(
	ctx context.Context, root uint64,
) (seconds float64, tuples int64, o *bsp.Outcome, err error) {
	id, _ := x.g.Find(root)
	if err := x.job.Restart(pregel.Erase(algorithms.BFS{Source: id})); err != nil {
		return 0, 0, nil, err
	}
	x.job.Prepare()
	start := time.Now()
	if o, err = x.job.Run(ctx); err != nil {
		return 0, 0, nil, err
	}
	seconds = time.Since(start).Seconds()
	tuples, err = x.source.judge(ctx, root, func(v int) uint32 {
		if p := x.job.Any(pregel.VertexID(x.g.IDs[v])).(pregel.VertexID); p != pregel.None {
			return x.g.Order[p]
		}
		return validate.Unreached
	})
	return seconds, tuples, o, err
}

// judge validates a tree by Graph500's rules. parent returns the parent of an input vertex. It
// returns the number of tuples in the component.
func (s *source) judge(ctx context.Context, root uint64, parent func(v int) uint32) (int64, error) {
	s.b.Team.For(len(s.parent), 1<<14, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			s.parent[v] = parent(v)
		}
	})
	result, err := s.validator.BFS(ctx, root, s.parent)
	if err != nil {
		return 0, fmt.Errorf("search of %s from %d: %w", s.in.Name, root, err)
	}
	return result.Edges, nil
}

// round searches from every root. It returns the mean time of a search and the harmonic mean of
// TEPS.
func (s *source) round(
	ctx context.Context, search func(ctx context.Context, root uint64) (float64, int64, error),
) (sample, error) {
	sum, each := 0.0, 0.0
	for _, root := range s.roots {
		seconds, tuples, err := search(ctx, root)
		if err != nil {
			return sample{}, err
		}
		sum += seconds
		each += seconds / float64(tuples)
	}
	n := float64(len(s.roots))
	return sample{sum / n, n / each}, nil
}

func (x *searcher) round(ctx context.Context) (sample, error) {
	return x.source.round(ctx, func(ctx context.Context, root uint64) (float64, int64, error) {
		seconds, tuples, _, err := x.search(ctx, root)
		return seconds, tuples, err
	})
}
