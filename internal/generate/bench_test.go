package generate

import (
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// BenchmarkFill generates blocks on one core.
func BenchmarkFill(b *testing.B) {
	for _, g := range []Generator{
		official(22),
		RMAT{22, 16, 0.57, 0.19, 0.19, 1},
		Uniform{1 << 22, 16, 1},
		Grid{1 << 11, 1 << 11},
		Star{1 << 22},
		Path{1 << 22},
	} {
		for _, weights := range []bool{false, true} {
			name := g.Name()
			if weights {
				name += "/weighted"
			}
			b.Run(name, func(b *testing.B) {
				block := edges.Block{N: edges.BlockSize}
				i := 0
				for b.Loop() {
					g.Fill(i*edges.BlockSize, &block, weights)
					i = (i + 1) % (g.Edges() / edges.BlockSize)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/edges.BlockSize,
					"ns/tuple")
			})
		}
	}
}

func BenchmarkRoots(b *testing.B) {
	for b.Loop() {
		official(22).Roots(64, func(uint64) bool { return true })
	}
}
