package verify

import (
	"math"
	"math/bits"
	"slices"
)

// closeEnough is by how much scores may differ because floats are added up in another order.
const closeEnough = 1e-9

// HITS checks hubs and authorities after a number of half iterations: the first makes authorities of hubs that are all alike, the second hubs
// of these, and so on. It makes them again, from lists of neighbours:
//
//   - hub, authority: each vertex has the score that this gives, but for rounding.
func HITS(g Graph, halves int, hub, authority []float64) error {
	if err := g.fits(len(hub), "hubs"); err != nil || len(hub) == 0 {
		return err
	}
	g = g.passes(4)
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	in, err := g.adjacency(inward, multigraph)
	if err != nil {
		return err
	}
	h, a := alike(g.Vertices), make([]float64, g.Vertices)
	for i := range halves {
		if err := g.stopped(); err != nil {
			return err
		}
		if i%2 == 0 {
			g.gather(in, h, a)
			toLength1(a)
		} else {
			g.gather(out, a, h)
			toLength1(h)
		}
	}
	if err := g.sameScores("hub", hub, h); err != nil {
		return err
	}
	return g.sameScores("authority", authority, a)
}

// Eigenvector checks scores after a number of power iterations from scores that are all alike. It makes them again, from lists of
// neighbours:
//
//   - score: each vertex has the score that this gives, but for rounding.
func Eigenvector(g Graph, iterations int, score []float64) error {
	if err := g.fits(len(score), "scores"); err != nil || len(score) == 0 {
		return err
	}
	in, err := g.adjacency(inward, multigraph)
	if err != nil {
		return err
	}
	x, next := alike(g.Vertices), make([]float64, g.Vertices)
	for range iterations {
		if err := g.stopped(); err != nil {
			return err
		}
		g.gather(in, x, next)
		for v := range next {
			next[v] += x[v]
		}
		toLength1(next)
		x, next = next, x
	}
	return g.sameScores("score", score, x)
}

// gather adds up for each vertex the values of its neighbours.
func (g Graph) gather(from adjacency, x, sums []float64) {
	g.Team.For(g.Vertices, 1<<10, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			sums[v] = 0
			for _, u := range from.of(v) {
				sums[v] += x[u]
			}
		}
	})
}

func alike(n int) []float64 { return slices.Repeat([]float64{1 / math.Sqrt(float64(n))}, n) }

func toLength1(x []float64) {
	sum := 0.0
	for _, a := range x {
		sum += a * a
	}
	if sum == 0 {
		return
	}
	for i := range x {
		x[i] /= math.Sqrt(sum)
	}
}

// sameScores refuses scores that are not those wanted. Large ones may differ by more.
func (g Graph) sameScores(rule string, score, want []float64) error {
	for v, x := range score {
		if !(math.Abs(x-want[v]) <= closeEnough*max(1, math.Abs(want[v]))) {
			return violation(rule, "vertex %d has the %s %g, and by another count %g", g.name(v), rule, x, want[v])
		}
	}
	return nil
}

// HyperBall checks estimates of HyperLogLog counters of 64 registers, whose elements are hashes of the vertices' labels. It makes them
// again, one distance after the other, from lists of neighbours:
//
//   - reached, harmonic: each vertex has the estimates that this gives, but for rounding.
func HyperBall(g Graph, reached, harmonic []float64) error {
	if err := g.fits(len(reached), "estimates"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, simple)
	if err != nil {
		return err
	}
	type registers [64]uint8
	estimate := func(r *registers) float64 {
		var count [65]int
		for _, x := range r {
			count[x]++
		}
		sum := 0.0
		for x, n := range count {
			sum += math.Ldexp(float64(n), -x)
		}
		if size := 0.709 * 64 * 64 / sum; count[0] == 0 || size > 160 {
			return size
		}
		return 64 * math.Log(64/float64(count[0]))
	}
	now, next := make([]registers, g.Vertices), make([]registers, g.Vertices)
	size, sum := make([]float64, g.Vertices), make([]float64, g.Vertices)
	for v := range now {
		x := splitMix(g.name(v))
		now[v][x&63] = uint8(65 - bits.Len64(x))
		size[v] = estimate(&now[v])
	}
	for distance, moved := 1.0, newMarks(1); ; distance++ {
		moved[0] = 0
		if err := g.stopped(); err != nil {
			return err
		}
		g.Team.For(g.Vertices, 1<<8, func(_, lo, hi int) {
			for v := lo; v < hi; v++ {
				r := now[v]
				for _, u := range out.of(v) {
					for i, x := range now[u] {
						r[i] = max(r[i], x)
					}
				}
				if next[v] = r; r != now[v] {
					grown := estimate(&r)
					sum[v] += (grown - size[v]) / distance
					size[v] = grown
					moved.add(0)
				}
			}
		})
		if now, next = next, now; moved[0] == 0 {
			break
		}
	}
	if err := g.sameScores("reached", reached, size); err != nil {
		return err
	}
	return g.sameScores("harmonic", harmonic, sum)
}
