package algorithms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
)

// TestPathsOfEqualWeights: where all weights are the same, whole levels lie at the window's bounds.
func TestPathsOfEqualWeights(t *testing.T) {
	for _, weight := range []float64{0x1p-30, 1, 3, 16384, 1e9} {
		for _, directed := range []bool{true, false} {
			t.Run(fmt.Sprintf("weight %g, directed %v", weight, directed), func(t *testing.T) {
				checkEqualWeights[float32](t, weight, directed, superstep.Float32)
				checkEqualWeights[float64](t, weight, directed, superstep.Float64)
			})
		}
	}
}

func checkEqualWeights[W combiners.Weight](t *testing.T, weight float64, directed bool, weights superstep.Weights) {
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	var edges []superstep.Edge
	next := make([][]uint64, n)
	for range 60 * n {
		u, v := uint64(min(rng.IntN(n), rng.IntN(n))),
			uint64(min(rng.IntN(n), rng.IntN(n), rng.IntN(n)))
		edges = append(edges, superstep.Edge{From: u, To: v, Weight: weight})
		next[u] = append(next[u], v)
		if !directed {
			next[v] = append(next[v], u)
		}
	}
	g, err := superstep.FromEdges(t.Context(), edges,
		superstep.LoadOptions{Directed: directed, Undirected: !directed, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, source := range []uint64{5, 1829} {
		want := make([]W, n)
		for v := range want {
			want[v] = W(math.Inf(1))
		}
		want[source] = 0
		for queue := []uint64{source}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			for _, v := range next[u] {
				if math.IsInf(float64(want[v]), 1) {
					want[v] = want[u] + W(weight)
					queue = append(queue, v)
				}
			}
		}
		id, ok := g.Vertex(source)
		if !ok {
			t.Fatal("no source")
		}
		r, err := superstep.Run(t.Context(), g, algorithms.SSSP[W]{Source: id},
			superstep.Options{MaxSupersteps: 100})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Converged {
			t.Fatal("distances have not been found in 100 supersteps")
		}
		for v, d := range r.All() {
			if d != want[v] {
				t.Fatalf("vertex %d has distance %g, want %g", v, d, want[v])
			}
		}
	}
}
