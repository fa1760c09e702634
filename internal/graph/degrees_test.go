package graph_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/pregel"
)

// TestDegreesAgainstSlowTwin: sums over any vertices, classes and the greatest degree match the
// lists, in every direction, for words with equal degrees and with different ones.
func TestDegreesAgainstSlowTwin(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(300)
		tuples, _ := randomTuples(rng, n, rng.IntN(2000))
		if seed%4 == 0 { // a ring: all degrees are equal
			tuples = tuples[:0]
			for i := range n {
				tuples = append(tuples, [2]uint64{uint64(i), uint64((i + 1) % n)})
			}
		}
		in := &edges.Input{
			Name: "random", Edges: edges.Pack(uint64(n), tuples, nil), Vertices: n,
			Directed: seed%2 == 0,
		}
		g, err := build.Local(context.Background(), in,
			graph.Options{Grid: graph.Of(1 + rng.IntN(3))})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range g.Parts {
			for _, d := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
				degrees := p.Degrees(d)
				if degrees != p.Degrees(d) {
					t.Fatalf("seed %d, direction %v: made twice", seed, d)
				}
				of := make([]int, len(p.OutDegrees))
				for i := range of {
					if d != pregel.In {
						of[i] += int(p.OutDegrees[i])
					}
					if d != pregel.Out {
						of[i] += int(p.InDegrees[i])
					}
				}
				edges, most, classes := 0, 0, [33]int{}
				for i, x := range of {
					if degrees.Of[i] != uint32(x) {
						t.Fatalf("seed %d, direction %v: degree %d, want %d", seed, d,
							degrees.Of[i], x)
					}
					edges, most = edges+x, max(most, x)
					classes[bits.Len(uint(x))]++
				}
				if degrees.Edges != edges || degrees.Most != uint64(most) ||
					degrees.Classes != classes {
					t.Fatalf(
						"seed %d, direction %v: %d edges, at most %d, classes %v, want %d, %d, %v",
						seed, d, degrees.Edges, degrees.Most, degrees.Classes, edges, most, classes)
				}
				for w := range len(of) / 64 {
					for _, set := range []uint64{0, 1, ^uint64(0), rng.Uint64(), 1 << 63} {
						sum := 0
						for i, x := range of[w<<6 : w<<6+64] {
							sum += x * int(set>>i&1)
						}
						if got := degrees.Sum(w, set); got != sum {
							t.Fatalf("seed %d, direction %v, word %d, %x: sum %d, want %d", seed, d,
								w, set, got, sum)
						}
					}
				}
			}
		}
		g.Close()
	}
}
