// Package verify checks the results of algorithms by certificates: properties that only a correct
// result has, and that one or two passes over the list of tuples can check. It shares no code with
// package algorithms. If no such property is known, it computes the result by another method, from
// lists of neighbours. The option --verify uses it. Read verify.go first, then bfs.go.
package verify

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// blockGrain is the number of blocks that a worker takes at a time.
const blockGrain = 16

// Graph is the graph that results are checked against: the tuples as the algorithm should see them.
// If it matters, they exclude the edges that --duplicates or --self-loops removed.
type Graph struct {
	// Edges are the arcs, or the edges of an undirected graph. An undirected edge is two arcs, a
	// loop one.
	Edges edges.List
	// Vertices is the number of vertices, including isolated ones. Results have a value for each.
	Vertices int
	Directed bool
	// UnitWeights makes every weight 1, as in a list without weights.
	UnitWeights bool
	// Labels are the names of vertices in errors.
	Labels edges.Labels
	// Team has the worker threads; nil means the caller's thread only.
	Team *parallel.Team
	// Stop, if not nil, is called now and then. If it returns an error, the check ends with that
	// error.
	Stop func() error
	// Progress, if not nil, is called now and then, by several goroutines, with the number of
	// tuples checked so far and the total.
	Progress func(done, all int64)

	looked *atomic.Int64 // tuples, in all passes
	all    int64
}

// passes returns the graph for a check that looks at every tuple n times.
func (g Graph) passes(n int) Graph {
	g.looked, g.all = new(atomic.Int64), int64(n)*int64(g.Edges.Len())
	return g
}

// count counts tuples, and reports progress now and then.
func (g Graph) count(block, tuples int) {
	done := g.looked.Add(int64(tuples))
	if g.Progress != nil && block%blockGrain == 0 {
		g.Progress(min(done, g.all), g.all)
	}
}

// Violation is the error for a wrong result. Any other error is about the arguments or the reading
// of tuples.
type Violation struct {
	// Rule is the name of the broken rule, as in the function's comment.
	Rule string
	// Text describes the violation, with the labels of the vertices.
	Text string
}

// Error returns the rule and the violation.
func (v *Violation) Error() string { return fmt.Sprintf("rule %q violated: %s", v.Rule, v.Text) }

func violation(rule, format string, args ...any) *Violation {
	return &Violation{rule, fmt.Sprintf(format, args...)}
}

// name returns the label of a vertex.
func (g Graph) name(v int) uint64 { return g.Labels.Of(uint64(v)) }

// fits checks the arguments that all functions have.
func (g Graph) fits(values int, what string) error {
	if values != g.Vertices {
		return fmt.Errorf("%d %s for %d vertices", values, what, g.Vertices)
	}
	if uint64(g.Vertices) > math.MaxUint32 {
		return fmt.Errorf("%d vertices: at most %d can be verified", g.Vertices,
			uint32(math.MaxUint32))
	}
	return nil
}

func (g Graph) fitsSource(source int) error {
	if source < 0 || source >= g.Vertices {
		return fmt.Errorf("source %d: the graph has %d vertices", source, g.Vertices)
	}
	return nil
}

// arcs is a block of arcs from[i] -> to[i]. An undirected edge comes in both directions.
type arcs struct {
	from, to []uint64
	weight   []float64
	back     bool
}

// scan calls check with every arc, from several goroutines at once. It returns the violation in the
// first block that has one. It checks that ends are vertices.
func (g Graph) scan(check func(a arcs) *Violation) error {
	var least parallel.First
	buffers := make([]edges.Block, g.Team.Size())
	g.Team.For(edges.Blocks(g.Edges), blockGrain, func(worker, lo, hi int) {
		b := &buffers[worker]
		for i := lo; i < hi && !least.Before(i); i++ {
			if err := g.read(i, b); err != nil {
				least.Report(i, err)
				return
			}
			broken := check(arcs{b.U[:b.N], b.V[:b.N], b.W[:b.N], false})
			if broken == nil && !g.Directed {
				broken = check(arcs{b.V[:b.N], b.U[:b.N], b.W[:b.N], true})
			}
			if broken != nil {
				least.Report(i, broken)
				return
			}
		}
	})
	return least.Err()
}

// stopped returns the error that ends the check, or nil.
func (g Graph) stopped() error {
	if g.Stop == nil {
		return nil
	}
	return g.Stop()
}

func (g Graph) read(i int, b *edges.Block) error {
	if i%blockGrain == 0 {
		if err := g.stopped(); err != nil {
			return err
		}
	}
	if err := g.Edges.Read(i, b); err != nil {
		return fmt.Errorf("read block %d of the edges: %w", i, err)
	}
	g.count(i, b.N)
	for j, u := range b.U[:b.N] {
		if v := b.V[j]; u >= uint64(g.Vertices) || v >= uint64(g.Vertices) {
			return fmt.Errorf("tuple %d joins %d and %d: the graph has %d vertices",
				i*edges.BlockSize+j, u, v, g.Vertices)
		}
	}
	if g.UnitWeights || !g.Edges.Weighted() {
		for j := range b.W[:b.N] {
			b.W[j] = 1
		}
	}
	return nil
}

// marks is a set of vertices. Several goroutines may add to it at once.
type marks []uint64

func newMarks(n int) marks { return make(marks, bitmap.Words(n)) }

func (m marks) has(v uint64) bool { return atomic.LoadUint64(&m[v>>6])>>(v&63)&1 != 0 }

func (m marks) add(v uint64) { atomic.OrUint64(&m[v>>6], 1<<(v&63)) }
