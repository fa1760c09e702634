package verify

import (
	"math"
	"slices"
)

// rounding is how far ranks may be off, relatively, because floats are added up in another order.
const rounding = 1e-11

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
