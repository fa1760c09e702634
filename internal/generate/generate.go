// Package generate makes graphs from parameters: the Graph500 generator, other random graphs, and
// shapes whose results are known. A generator computes any range of its tuples by itself, so
// threads, processes and repeated reads agree without talking; [Input] packs the tuples into memory
// for kernel 1, [Lazy] computes them anew at each read.
package generate

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Generator is a graph that can be computed from a few numbers. Its methods may be called by
// several goroutines at once.
type Generator interface {
	// Name returns the canonical text, with every parameter, which Parse reads back.
	Name() string
	// Vertices returns the number of vertices, isolated ones included.
	Vertices() uint64
	// Edges returns the number of tuples, loops and duplicates included.
	Edges() int
	// Directed reports whether tuples are arcs.
	Directed() bool
	// Fill makes the b.N tuples from the given one on, which must exist. W is written only if
	// weights are wanted, and the tuples do not depend on that.
	Fill(first int, b *edges.Block, weights bool)
}

const (
	// maxTuples bounds what Parse accepts, so that no product of parameters overflows.
	maxTuples = 1 << 56
	// grain is the number of blocks that a worker takes at a time: about a millisecond of Kronecker
	// tuples.
	grain = 16
)

// Options say how Input makes a graph.
type Options struct {
	// Weights is the kind of weights to make.
	Weights edges.Weights
	// Team shares the work; nil is the caller alone.
	Team *parallel.Team
	// Beside is how many bytes must be available beside the list, for what is made of it.
	Beside int64
	// Progress, when it is not nil, is called now and then on the caller's goroutine with the
	// number of tuples made and to be made, and at the end.
	Progress func(done, total int64)
}

// Input makes the graph of g in memory. It refuses parameters out of range and graphs that do not
// fit. A cancelled context ends it within milliseconds with the context's error, wrapped, and frees
// what was made.
func Input(ctx context.Context, g Generator, o Options) (*edges.Input, error) {
	if err := check(g); err != nil {
		return nil, err
	}
	if err := fits(g, o.Weights, o.Beside, mem.Room()); err != nil {
		return nil, err
	}
	p := edges.NewPacked(g.Vertices(), g.Edges(), o.Weights)
	if err := fill(ctx, g, p, o); err != nil {
		p.Close()
		return nil, fmt.Errorf("generating %s: %w", g.Name(), err)
	}
	kind := "undirected"
	if g.Directed() {
		kind = "directed"
	}
	return &edges.Input{
		Name:     g.Name(),
		Edges:    p,
		Vertices: int(g.Vertices()),
		Directed: g.Directed(),
		Account: []string{fmt.Sprintf("generated %s: %d vertices, %d %s tuples, %v, %s packed",
			g.Name(), g.Vertices(), g.Edges(), kind, o.Weights,
			mem.Text(edges.PackedBytes(g.Vertices(), g.Edges(), o.Weights)))},
		Free: p.Close,
	}, nil
}

// fill computes the tuples of g into p.
func fill(ctx context.Context, g Generator, p *edges.Packed, o Options) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	total := g.Edges()
	blocks := make([]edges.Block, o.Team.Size())
	var done atomic.Int64
	var cut atomic.Bool
	o.Team.For(edges.Blocks(p), grain, func(worker, lo, hi int) {
		if cut.Load() || ctx.Err() != nil {
			cut.Store(true)
			return
		}
		b := &blocks[worker]
		made := 0
		for i := lo; i < hi; i++ {
			b.N = min(edges.BlockSize, total-i*edges.BlockSize)
			g.Fill(i*edges.BlockSize, b, o.Weights != edges.Unweighted)
			p.Write(i, b)
			made += b.N
		}
		if sum := done.Add(int64(made)); worker == 0 && o.Progress != nil && sum < int64(total) {
			o.Progress(sum, int64(total))
		}
	})
	if cut.Load() {
		return ctx.Err()
	}
	if o.Progress != nil {
		o.Progress(int64(total), int64(total))
	}
	return nil
}

// fits returns an error if g, and the bytes beside it, are too large for the given number of bytes,
// 0 where nobody knows how many there are.
func fits(g Generator, weights edges.Weights, beside, available int64) error {
	need := edges.PackedBytes(g.Vertices(), g.Edges(), weights) + beside
	if available <= 0 {
		available = 1 << 46 // about what a process can address
	}
	var wrong []string
	if n := g.Vertices(); n > graph.MaxVertices {
		wrong = append(wrong, fmt.Sprintf("%d vertices are too many, at most %d can be loaded", n,
			uint64(graph.MaxVertices)))
	}
	if need > available {
		wrong = append(wrong, fmt.Sprintf("%d tuples need %s of memory, %s are available",
			g.Edges(), mem.Text(need), mem.RoomText(available)))
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("generator %s: %s", g.Name(), strings.Join(wrong, "; "))
}

// Loadable refuses graphs that are too large for any machine.
func Loadable(g Generator) error { return fits(g, edges.Unweighted, 0, 0) }

// Lazy returns the tuples of g as a list that computes them at each Read and holds none.
func Lazy(g Generator, weighted bool) edges.List { return lazy{g, weighted} }

type lazy struct {
	g        Generator
	weighted bool
}

func (l lazy) Len() int { return l.g.Edges() }

func (l lazy) Weighted() bool { return l.weighted }

func (l lazy) Read(i int, b *edges.Block) error {
	b.N = min(edges.BlockSize, l.Len()-i*edges.BlockSize)
	l.g.Fill(i*edges.BlockSize, b, l.weighted)
	return nil
}
