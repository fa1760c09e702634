package bitmap

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchWords is a bitmap of 2^20 bits.
const benchWords = 1 << 14

func dense(density float64) []uint64 {
	rng := rand.New(rand.NewPCG(1, 1))
	set := make([]uint64, benchWords)
	for i := range uint32(64 * benchWords) {
		if rng.Float64() < density {
			Set(set, i)
		}
	}
	return set
}

func perWord(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchWords, "ns/word")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkWords iterates over bitmaps of different densities.
func BenchmarkWords(b *testing.B) {
	for _, density := range []float64{0.01, 0.5, 1} {
		set, mask := dense(density), dense(0.5)
		ranks := make([]uint32, benchWords+1)
		name := func(what string) string { return fmt.Sprintf("%s/%g", what, density) }
		sum := uint64(0)
		perWord(b, name("count"), func() { sum += uint64(Count(set)) })
		perWord(b, name("rank"), func() { Rank(set, ranks) })
		perWord(b, name("each"), func() { Each(set, func(i uint32) { sum += uint64(i) }) })
		perWord(b, name("compress"), func() {
			for w, word := range set {
				sum += Compress(word, mask[w])
			}
		})
		perWord(b, name("expand"), func() {
			for w, word := range set {
				sum += Expand(word, mask[w])
			}
		})
		_ = sum
	}
}

// BenchmarkFrontier fills and clears frontiers of 2^20 bits with different numbers of set bits. The
// cost of a small one depends only on its set bits.
func BenchmarkFrontier(b *testing.B) {
	for _, n := range []int{1, 1 << 10, 1 << 18} {
		rng := rand.New(rand.NewPCG(2, 2))
		f := NewFrontier(make([]uint64, benchWords))
		bits := make([]uint32, n)
		for i := range bits {
			bits[i] = rng.Uint32N(64 * benchWords)
		}
		for _, shared := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/shared=%t", n, shared), func(b *testing.B) {
				for b.Loop() {
					for _, i := range bits {
						if shared {
							f.AddShared(i)
						} else {
							f.Add(i)
						}
					}
					f.Clear()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/bit")
			})
		}
	}
}
