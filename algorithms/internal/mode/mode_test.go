package mode_test

import (
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/algorithms/internal/mode"
)

// TestMode compares the three counting methods with a map.
func TestMode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, mode.Sorted, mode.Sorted + 1, 1000, mode.Table, mode.Table + 1, 300_000} {
		for _, kinds := range []uint64{1, 2, 3, 100, uint64(n)/3 + 1, uint64(n), 1 << 63} {
			labels, counts := make([]uint64, n), map[uint64]int{}
			for i := range labels {
				labels[i] = random.Uint64N(kinds)
				counts[labels[i]]++
			}
			var want uint64
			most := 0
			for l, c := range counts {
				if c > most || c == most && l < want {
					want, most = l, c
				}
			}
			if got := mode.Of(labels); got != want {
				t.Errorf("%d labels of %d kinds: %d, %d times; want %d, %d times", n, kinds, got,
					counts[got], want, most)
			}
		}
	}
}

func BenchmarkMode(b *testing.B) {
	labels, own := make([]uint64, 1<<20), make([]uint64, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range labels {
		labels[i] = random.Uint64()
	}
	for b.Loop() {
		copy(own, labels)
		mode.Of(own)
	}
}
