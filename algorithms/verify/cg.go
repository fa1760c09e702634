package verify

import (
	"math"
	"slices"
	"sync/atomic"
)

// Solution checks that x solves Ax = b. The entries of A are the weights of the edges, loops are
// the diagonal, and parallel edges add up. A nil b means all ones. Solution returns the residual
// |b-Ax|/|b|, or |b-Ax| if b is 0. It divides numbers by the greatest entry of b, so that their
// squares neither underflow nor overflow.
//
//   - residual: it is at most the tolerance, within rounding, which grows with the entries of x.
func Solution(g Graph, b, x []float64, tolerance float64) (float64, error) {
	if b == nil {
		b = slices.Repeat([]float64{1}, len(x))
	}
	if err := g.fits(len(x), "entries of x"); err != nil {
		return 0, err
	}
	if err := g.fits(len(b), "entries of b"); err != nil {
		return 0, err
	}
	// bits of floats: Ax, and |A||x|
	sums, sizes := make([]atomic.Uint64, len(x)), make([]atomic.Uint64, len(x))
	if err := g.passes(1).scan(func(a arcs) *Violation {
		for i, u := range a.from {
			if v := a.to[i]; !a.back || u != v {
				add(&sums[u], a.weight[i]*x[v])
				add(&sizes[u], math.Abs(a.weight[i]*x[v]))
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	scale := 0.0
	for _, entry := range b {
		scale = max(scale, math.Abs(entry))
	}
	if scale == 0 {
		scale = 1
	}
	length, size, far := 0.0, 0.0, 0.0
	worst, least := 0, 0.0
	for v := range x {
		r := b[v] - math.Float64frombits(sums[v].Load())
		if math.IsNaN(r) || math.IsInf(r, 0) {
			return 0, violation("residual", "the entry of vertex %d, %g, makes no residual",
				g.name(v), x[v])
		}
		if math.Abs(r) > least {
			worst, least = v, math.Abs(r)
		}
		s := math.Abs(b[v]) + math.Float64frombits(sizes[v].Load())
		length, size, far = length+square(b[v]/scale), size+square(s/scale), far+square(r/scale)
	}
	length = math.Sqrt(length)
	if length == 0 {
		length = 1
	}
	relative := math.Sqrt(far) / length
	if !(relative <= math.MaxFloat64 && relative <= tolerance+
		closeEnough*1e-4*math.Sqrt(size)/length) {
		return relative, violation("residual",
			"|b-Ax|/|b| is %g, more than %g; the row of vertex %d is missed by %g", relative,
			tolerance, g.name(worst), least)
	}
	return relative, nil
}

func square(x float64) float64 { return x * x }

func add(sum *atomic.Uint64, x float64) {
	for {
		old := sum.Load()
		if sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+x)) {
			return
		}
	}
}
