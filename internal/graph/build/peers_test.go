package build_test

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
)

// BenchmarkPeers reports the bytes of all lists that partitions have of each other, and the bytes
// of bitmaps with ranks over all owned vertices.
func BenchmarkPeers(b *testing.B) {
	scale := 18
	if testing.Short() {
		scale = 14
	}
	team := parallel.NewTeam(2, false)
	defer team.Close()
	for _, g := range []struct {
		name string
		generate.Generator
	}{
		{"kronecker", generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}},
		{"uniform", generate.Uniform{N: 1 << scale, Degree: 32, Seed: 5}},
	} {
		for _, partitions := range []int{4, 16, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", g.name, partitions), func(b *testing.B) {
				for range b.N {
					in, err := generate.Input(b.Context(), g.Generator,
						generate.Options{Team: team})
					if err != nil {
						b.Fatal(err)
					}
					made, err := build.Local(b.Context(), in,
						graph.Options{Partitions: partitions, Team: team})
					if err != nil {
						b.Fatal(err)
					}
					lists, flat := 0, 0
					for _, p := range made.Parts {
						s := p.Layout(0).Blocks[0].Pull.Senders
						lists += s.Peers.Bytes()
						flat += len(s.Line) * (12*bitmap.Words(p.Owned) + 4 + 48) // 48: two slices
					}
					b.ReportMetric(float64(lists), "bytes")
					b.ReportMetric(float64(flat), "bytes-flat")
					b.ReportMetric(0, "ns/op")
					made.Close()
				}
			})
		}
	}
}
