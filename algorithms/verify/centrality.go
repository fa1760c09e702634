package verify

import (
	"math"
	"math/bits"
	"slices"
)

// closeEnough is the relative tolerance of scores, because floats are added in another order.
// leastScore is the absolute tolerance: floats so small have few digits.
const (
	closeEnough = 1e-9
	leastScore  = 1e-290
)

// HITS checks hubs and authorities after a number of half iterations. The first computes
// authorities from equal hubs, the second computes hubs from these, and so on. The iterations end
// when the length of the change of the authorities is below the tolerance, or at the given number.
// HITS repeats the computation with lists of neighbours:
//
//   - hub, authority: each vertex has the computed score, within rounding.
func HITS(g Graph, halves int, tolerance float64, hub, authority []float64) error {
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
	next, done := make([]float64, g.Vertices), 0
	return g.atEnd(halves/2, tolerance, func() float64 {
		done += 2
		g.gather(in, h, next)
		toLength1(next)
		g.gather(out, next, h)
		toLength1(h)
		a, next = next, a
		return apart(a, next)
	}, func() error {
		if done+1 == halves {
			g.gather(in, h, a)
			toLength1(a)
		}
		if err := g.sameScores("hub", hub, h); err != nil {
			return err
		}
		return g.sameScores("authority", authority, a)
	})
}

// atEnd iterates until the change is below the tolerance, at most iterations times, and then checks
// the result. If rounding decides whether the change is below, it accepts both ends.
func (g Graph) atEnd(
	iterations int, tolerance float64, iterate func() float64, check func() error,
) error {
	if iterations == 0 {
		return check()
	}
	for i := 1; ; i++ {
		if err := g.stopped(); err != nil {
			return err
		}
		change := iterate()
		if i >= iterations || change < tolerance*(1-closeEnough) {
			return check()
		}
		if change < tolerance*(1+closeEnough) && check() == nil {
			return nil
		}
	}
}

// apart returns the length of the difference of two vectors.
func apart(x, y []float64) float64 {
	sum := 0.0
	for i, a := range x {
		sum += square(a - y[i])
	}
	return math.Sqrt(sum)
}

// Eigenvector checks scores after a number of power iterations from equal scores. The iterations
// end when the length of the change is below the tolerance, or at the given number. It repeats the
// computation with lists of neighbours:
//
//   - score: each vertex has the computed score, within rounding.
func Eigenvector(g Graph, iterations int, tolerance float64, score []float64) error {
	if err := g.fits(len(score), "scores"); err != nil || len(score) == 0 {
		return err
	}
	in, err := g.adjacency(inward, multigraph)
	if err != nil {
		return err
	}
	x, next := alike(g.Vertices), make([]float64, g.Vertices)
	return g.atEnd(iterations, tolerance, func() float64 {
		g.gather(in, x, next)
		for v := range next {
			next[v] += x[v]
		}
		toLength1(next)
		x, next = next, x
		return apart(x, next)
	}, func() error { return g.sameScores("score", score, x) })
}

// gather sums the values of each vertex's neighbours.
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

// sameScores returns an error unless score equals want, within rounding.
func (g Graph) sameScores(rule string, score, want []float64) error {
	for v, x := range score {
		if !(math.Abs(x-want[v]) <= closeEnough*math.Abs(want[v])+leastScore) {
			return violation(rule, "vertex %d has the %s %g, and by another count %g", g.name(v),
				rule, x, want[v])
		}
	}
	return nil
}

// HyperBall checks the estimates of HyperLogLog counters of 64 registers, whose elements are hashes
// of the vertices' labels. It repeats the computation, distance by distance, with lists of
// neighbours:
//
//   - reached, harmonic: each vertex has the computed estimates, within rounding.
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
