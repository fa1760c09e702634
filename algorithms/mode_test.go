package algorithms

import (
	"math/rand/v2"
	"testing"
)

// TestMode compares the three ways of counting labels with a map.
func TestMode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, sortedLabels, sortedLabels + 1, 1000, tableLabels, tableLabels + 1, 300_000} {
		for _, kinds := range []uint64{1, 2, 3, 100, uint64(n)/3 + 1, uint64(n), 1 << 63} {
			labels, counts := make([]uint64, n), map[uint64]int{}
			for i := range labels {
				labels[i] = random.Uint64N(kinds)
				counts[labels[i]]++
			}
			want := labelCount{}
			for l, c := range counts {
				if c > want.n || c == want.n && l < want.label {
					want = labelCount{l, c}
				}
			}
			if got := mode(labels); got != want.label {
				t.Errorf("%d labels of %d kinds: %d, %d times; want %d, %d times", n, kinds, got, counts[got], want.label, want.n)
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
		mode(own)
	}
}
