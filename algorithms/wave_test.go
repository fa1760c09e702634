package algorithms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
)

// TestPathsOfEqualWeights: with equal weights, whole levels lie exactly at the window's bounds.
func TestPathsOfEqualWeights(t *testing.T) {
	for _, directed := range []bool{true, false} {
		list, levels := crowd(directed, 5, 1829)
		all := map[bool][]float64{true: {0x1p-30, 3, 1e9}, false: {1, 16384}}
		for i, weight := range all[directed] {
			for k := range list {
				list[k].Weight = weight
			}
			t.Run(fmt.Sprintf("weight %g, directed %v", weight, directed), func(t *testing.T) {
				if i%2 == 0 {
					checkEqualWeights[float32](t, list, directed, superstep.Float32, levels)
				} else {
					checkEqualWeights[float64](t, list, directed, superstep.Float64, levels)
				}
			})
		}
	}
}

// crowd returns a graph of 2000 vertices. For each source it also returns every vertex's distance
// in edges, -1 if unreachable.
func crowd(directed bool, sources ...uint64) (list []superstep.Edge, levels map[uint64][]int) {
	const n = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	next := make([][]uint64, n)
	for range 60 * n {
		u, v := uint64(min(rng.IntN(n), rng.IntN(n))),
			uint64(min(rng.IntN(n), rng.IntN(n), rng.IntN(n)))
		list = append(list, superstep.Edge{From: u, To: v})
		next[u] = append(next[u], v)
		if !directed {
			next[v] = append(next[v], u)
		}
	}
	levels = map[uint64][]int{}
	for _, source := range sources {
		far := slices.Repeat([]int{-1}, n)
		far[source] = 0
		for queue := []uint64{source}; len(queue) > 0; queue = queue[1:] {
			for _, v := range next[queue[0]] {
				if far[v] < 0 {
					far[v] = far[queue[0]] + 1
					queue = append(queue, v)
				}
			}
		}
		levels[source] = far
	}
	return list, levels
}

func checkEqualWeights[W combiners.Weight](
	t *testing.T, list []superstep.Edge, directed bool, weights superstep.Weights,
	levels map[uint64][]int,
) {
	g, err := superstep.FromEdges(t.Context(), list,
		superstep.LoadOptions{Directed: directed, Undirected: !directed, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for source, far := range levels {
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
			want := W(math.Inf(1))
			if far[v] >= 0 {
				want = 0
			}
			for range far[v] {
				want += W(list[0].Weight)
			}
			if d != want {
				t.Fatalf("vertex %d has distance %g, want %g", v, d, want)
			}
		}
	}
}
