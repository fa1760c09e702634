package main

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep"
)

// cores is the k-core by hand: who has too few neighbours left is taken out, until nobody is.
func cores(edges []superstep.Edge, k int64) map[uint64]int64 {
	degree := map[uint64]int64{}
	for _, e := range edges {
		degree[e.From]++
		degree[e.To]++
	}
	for again := true; again; {
		again = false
		for v, d := range degree {
			if d == gone || d >= k {
				continue
			}
			degree[v], again = gone, true
			for _, e := range edges {
				for _, other := range [][2]uint64{{e.From, e.To}, {e.To, e.From}} {
					if other[0] == v && degree[other[1]] != gone {
						degree[other[1]]--
					}
				}
			}
		}
	}
	return degree
}

func TestCores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var edges []superstep.Edge
		for range random.IntN(300) {
			if u, v := random.Uint64N(60), random.Uint64N(60); u != v {
				edges = append(edges, superstep.Edge{From: u, To: v})
			}
		}
		if len(edges) == 0 {
			continue
		}
		k := random.Int64N(8)
		for _, partitions := range []int{1, 3} {
			g, err := superstep.FromEdges(t.Context(), edges, superstep.LoadOptions{Partitions: partitions})
			if err != nil {
				t.Fatal(err)
			}
			res, err := superstep.Run(t.Context(), g, Cores{K: k})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := maps.Collect(res.All()), cores(edges, k); !maps.Equal(got, want) {
				t.Fatalf("k = %d: %v, want %v", k, got, want)
			}
			g.Close()
		}
	}
}
