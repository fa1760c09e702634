package nas

import (
	"math"
	"testing"
)

// TestNumbersAreThoseOfNPB compares the generator with NPB's method: products of halves in floating
// point.
func TestNumbersAreThoseOfNPB(t *testing.T) {
	const half = 1 << 23
	x, r := 314159265.0, seed
	a1, a2 := math.Floor(1220703125.0/half), math.Mod(1220703125, half)
	for i := range 10000 {
		x1, x2 := math.Floor(x/half), math.Mod(x, half)
		x = math.Mod(math.Mod(a1*x2+a2*x1, half)*half+a2*x2, half*half)
		if want, got := x/half/half, r.Next(); got != want {
			t.Fatalf("number %d is %v, expected %v", i, got, want)
		}
	}
}

func TestSkip(t *testing.T) {
	r := seed
	for n := range uint64(300) {
		skipped := seed
		if skipped.Skip(n); skipped != r {
			t.Fatalf("skipping %d: found %d, expected %d", n, skipped, r)
		}
		r.Next()
	}
}
