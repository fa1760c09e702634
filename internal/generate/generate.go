// Package generate makes graphs from parameters: the Graph500 generator, other random graphs, and
// shapes with known results. A generator computes any range of its tuples independently, so
// threads, processes and repeated reads agree without communication. [Input] packs the tuples into
// memory for kernel 1, [Lazy] computes them at each read. Read generate.go first, then
// kronecker.go.
package generate

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
)

// Generator is a graph that is computed from a few parameters. Several goroutines may call its
// methods at once.
type Generator interface {
	// Name returns the canonical text with all parameters, which Parse accepts.
	Name() string
	// Vertices returns the number of vertices, including isolated ones.
	Vertices() uint64
	// Edges returns the number of tuples, including loops and duplicates.
	Edges() int
	// Directed reports whether tuples are arcs.
	Directed() bool
	// Fill computes b.N tuples, from tuple first on. It writes W only if weights is set, which does
	// not change the tuples.
	Fill(first int, b *edges.Block, weights bool)
}

const (
	// maxTuples is the greatest number of tuples that Parse accepts, so that no product of
	// parameters overflows.
	maxTuples = 1 << 56
	// grain is the number of blocks that a worker takes at a time: about a millisecond of Kronecker
	// tuples.
	grain = 16
)

// Options are the parameters of Input.
type Options struct {
	// Weights is the type of weights to make.
	Weights edges.Weights
	// Team has the worker threads; nil means the caller's thread only.
	Team *parallel.Team
	// Beside is the number of bytes that must be available besides the list, for data made from it.
	Beside int64
	// Progress, if not nil, is called now and then, and at the end, on the caller's goroutine with
	// the number of tuples done, and the total.
	Progress func(done, total int64)
}

// Input makes the graph of g in memory. It returns an error for parameters out of range and for
// graphs that do not fit. If ctx is cancelled, it ends within milliseconds with the wrapped error
// of ctx, and frees the graph.
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
	return &edges.Input{
		Name:     g.Name(),
		Edges:    p,
		Vertices: int(g.Vertices()),
		Directed: g.Directed(),
		Account: []string{fmt.Sprintf("generated %s: %d vertices, %d %s tuples, %v, %s packed",
			g.Name(), g.Vertices(), g.Edges(), edges.Kind(g.Directed()), o.Weights,
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
		b, made := &blocks[worker], 0
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

// fits returns an error if g, and the bytes beside it, exceed the available bytes; 0 means unknown.
func fits(g Generator, weights edges.Weights, beside, available int64) error {
	need := edges.PackedBytes(g.Vertices(), g.Edges(), weights) + beside
	available = cmp.Or(max(available, 0), 1<<46) // about the address space of a process
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

// Loadable returns an error for a graph that is too large for any machine.
func Loadable(g Generator) error { return fits(g, edges.Unweighted, 0, 0) }

// Lazy returns the tuples of g as a list that computes them at each Read and stores none.
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
