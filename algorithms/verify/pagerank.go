package verify

import (
	"math"
	"slices"
)

// rounding is the relative tolerance of ranks, because floats are added in another order.
const rounding = 1e-11

// Ranks checks PageRank's ranks after a number of iterations from equal ranks, at the sources or
// everywhere. The iterations end when the L1 norm of the change is below the tolerance, or at the
// given number. It repeats the computation with lists of neighbours:
//
//   - rank: each vertex has the computed rank, within rounding.
func Ranks(
	g Graph, damping float64, iterations int, tolerance float64, rank []float64, sources ...int,
) error {
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

// jumps returns the probability of each vertex as the target of a jump: equal for all sources, or
// for all vertices without sources.
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
