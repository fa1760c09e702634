package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// wild returns a random float of any magnitude.
func wild(rng *rand.Rand, spread int) float64 {
	return math.Ldexp(rng.Float64()-0.5, rng.IntN(2*spread+1)-spread)
}

func TestExactSumsAreTheNearestFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		spread := []int{0, 5, 60, 500}[rng.IntN(4)]
		var list []float64
		for range rng.IntN(40) {
			list = append(list, wild(rng, spread))
			if rng.IntN(3) == 0 {
				list = append(list, -list[rng.IntN(len(list))])
			}
		}
		sum := new(big.Float).SetPrec(3000)
		for _, x := range list {
			sum.Add(sum, big.NewFloat(x))
		}
		want, _ := sum.Float64()
		for range 3 {
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			var a, b exactSum
			cut := rng.IntN(len(list) + 1)
			for i, x := range list {
				if i < cut {
					a.add(x)
				} else {
					b.add(x)
				}
			}
			if a.merge(&b); a.round() != want {
				t.Fatalf("%v add up to %x, want %x", list, a.round(), want)
			}
		}
	}
}

func TestExactSumsOfInfinities(t *testing.T) {
	inf, huge := math.Inf(1), math.MaxFloat64
	for _, c := range []struct {
		list []float64
		want float64
	}{
		{nil, 0},
		{[]float64{0, math.Copysign(0, -1)}, 0},
		{[]float64{inf, 1, -1e300}, inf},
		{[]float64{-inf, inf}, math.NaN()},
		{[]float64{1, math.NaN()}, math.NaN()},
		{[]float64{huge, huge, huge}, inf},
		{[]float64{-huge, 1, -huge}, -inf},
		{[]float64{5e-324, 5e-324}, 1e-323},
	} {
		var s exactSum
		for _, x := range c.list {
			s.add(x)
		}
		if got := s.round(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v add up to %g, want %g", c.list, got, c.want)
		}
		if s.reset(); s.round() != 0 {
			t.Errorf("%v: %g after a reset", c.list, s.round())
		}
	}
}
