package verify

import (
	"math"
	"slices"
	"sync/atomic"
)

// rounding is the residual that ranks may have because floats are added up in another order.
const rounding = 1e-11

// PageRank checks ranks by one more iteration of Graphalytics' definition, in which the rank of
// vertices without out-arcs goes to all vertices; or, with sources, of personalised PageRank, in
// which it goes to these, as all that does not go along arcs. It returns the residual, the L1 norm
// of the change:
//
//   - range: no rank is negative, or no number;
//   - sum: ranks add up to 1, but for rounding;
//   - residual: the residual is not above the tolerance, but for rounding.
//
// An iteration shrinks the L1 distance of any two rank vectors by the factor damping at least. So
// the ranks of k iterations pass with the tolerance 2*damping^k, those of a run that ended with a
// change below t with damping*t.
func PageRank(g Graph, damping float64, rank []float64, tolerance float64, sources ...int) (float64, error) {
	if err := g.fits(len(rank), "ranks"); err != nil || len(rank) == 0 {
		return 0, err
	}
	n, sum := float64(len(rank)), 0.0
	for v, r := range rank {
		if !(r >= 0) || math.IsInf(r, 1) {
			return 0, violation("range", "the rank of vertex %d is %g", g.name(v), r)
		}
		sum += r
	}
	if math.Abs(sum-1) > 1e-9+1e-15*n {
		return 0, violation("sum", "the ranks of the %d vertices add up to %.17g, not 1", len(rank),
			sum)
	}
	targets, err := g.jumps(sources)
	if err != nil {
		return 0, err
	}
	next, err := g.passes(2).iterate(damping, rank, targets)
	if err != nil {
		return 0, err
	}
	residual, worst := 0.0, 0
	for v, r := range next {
		residual += math.Abs(r - rank[v])
		if math.Abs(r-rank[v]) > math.Abs(next[worst]-rank[worst]) {
			worst = v
		}
	}
	if !(residual <= tolerance+rounding) {
		return residual, violation("residual",
			"one more iteration changes the ranks by %g, more than %g; that of vertex %d from %g to %g",
			residual, tolerance, g.name(worst), rank[worst], next[worst])
	}
	return residual, nil
}

// iterate returns the ranks after one more iteration.
func (g Graph) iterate(damping float64, rank, targets []float64) ([]float64, error) {
	degree := make([]uint32, len(rank))
	if err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			if !a.back || u != a.to[i] {
				atomic.AddUint32(&degree[u], 1)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	share, dangling := make([]float64, len(rank)), 0.0
	for u, d := range degree {
		if d == 0 {
			dangling += rank[u]
		} else {
			share[u] = rank[u] / float64(d)
		}
	}
	sums := make([]atomic.Uint64, len(rank)) // floats, as their bits
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			if v := a.to[i]; !a.back || u != v {
				add(&sums[v], share[u])
			}
		}
		return nil
	})
	next := share
	for v, target := range targets {
		next[v] = (1-damping+damping*dangling)*target + damping*math.Float64frombits(sums[v].Load())
	}
	return next, err
}

func add(sum *atomic.Uint64, x float64) {
	for {
		old := sum.Load()
		if sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+x)) {
			return
		}
	}
}

// Ranks checks ranks as PageRank defines them after some iterations from ranks that are alike, at
// the sources or everywhere. The last is the one in which they change by less than the tolerance,
// in the L1 norm, or else the number given. It makes them again, from lists of neighbours:
//
//   - rank: each vertex has the rank that this gives, but for rounding.
func Ranks(g Graph, damping float64, iterations int, tolerance float64, rank []float64, sources ...int) error {
	if err := g.fits(len(rank), "ranks"); err != nil || len(rank) == 0 {
		return err
	}
	targets, err := g.jumps(sources)
	if err != nil {
		return err
	}
	in, err := g.adjacency(inward, multigraph)
	if err != nil {
		return err
	}
	degree := make([]float64, len(rank))
	for _, u := range in.to {
		degree[u]++
	}
	want, share, sums := slices.Clone(targets), make([]float64, len(rank)),
		make([]float64, len(rank))
	return g.atEnd(iterations, tolerance, func() float64 {
		dangling, change := 0.0, 0.0
		for u, d := range degree {
			if share[u] = 0; d == 0 {
				dangling += want[u]
			} else {
				share[u] = want[u] / d
			}
		}
		g.gather(in, share, sums)
		for v, target := range targets {
			next := (1-damping+damping*dangling)*target + damping*sums[v]
			change += math.Abs(next - want[v])
			want[v] = next
		}
		return change
	}, func() error {
		for v, r := range rank {
			if !(math.Abs(r-want[v]) <= rounding*want[v]) {
				return violation("rank", "vertex %d has the rank %g, and by another count %g",
					g.name(v), r, want[v])
			}
		}
		return nil
	})
}

// jumps returns the shares of vertices in what does not go along arcs: all alike without sources.
func (g Graph) jumps(sources []int) ([]float64, error) {
	targets := make([]float64, g.Vertices)
	for v := range targets {
		if len(sources) == 0 {
			targets[v] = 1 / float64(len(targets))
		}
	}
	for _, v := range sources {
		if err := g.fitsSource(v); err != nil {
			return nil, err
		}
		targets[v] += 1 / float64(len(sources))
	}
	return targets, nil
}
