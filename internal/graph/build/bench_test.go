package build

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
)

// kronecker makes a rank's part of the tuples of a Graph500 graph.
func kronecker(t testing.TB, scale, rank, ranks int) *edges.Input {
	g := generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}
	s, err := generate.RankInput(t.Context(), g, rank, ranks, false, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	in := s.Input
	in.Free = nil
	return &in
}

// BenchmarkBuild measures kernel 1 of Graph500: on a single rank with as many threads as there are
// ranks, and on several ranks.
func BenchmarkBuild(b *testing.B) {
	const ranks = 2
	scales := []int{18, 20}
	if testing.Short() {
		scales = []int{14}
	}
	for _, scale := range scales {
		o := graph.Options{Partitions: ranks, Duplicates: graph.LeastDuplicate, DropLoops: true, TupleDegrees: true}
		perEdge := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(int(16)<<scale),
				"ns/edge")
		}
		b.Run(fmt.Sprintf("scale=%d/whole", scale), func(b *testing.B) {
			in := kronecker(b, scale, 0, 1)
			team := parallel.NewTeam(ranks, false)
			defer team.Close()
			o := o
			o.Team = team
			for b.Loop() {
				g, err := Local(b.Context(), in, o)
				if err != nil {
					b.Fatal(err)
				}
				g.Close()
			}
			perEdge(b)
		})
		b.Run(fmt.Sprintf("scale=%d/ranks", scale), func(b *testing.B) {
			var shares []*edges.RankInput
			for rank := range ranks {
				shares = append(shares, edges.Whole(kronecker(b, scale, rank, ranks), 0))
			}
			for b.Loop() {
				all := buildOver(b, b.Context(), shares, []int{0, 1},
					func(int) graph.Options { return o })
				for _, got := range all {
					if got.err != nil {
						b.Fatal(got.err)
					}
				}
				closeAll(all)
			}
			perEdge(b)
		})
	}
}
