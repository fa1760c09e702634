package library_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

// TestGraphsSharingLists: a changed graph shares unchanged lists with the original. Data that a job
// derives from them for one graph must survive the end of the other, and two jobs must not
// interfere.
func TestGraphsSharingLists(t *testing.T) {
	var edges []superstep.Edge
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		u, v := min(rng.IntN(5000), rng.IntN(5000)), rng.IntN(5000)
		edges = append(edges, superstep.Edge{From: uint64(u), To: uint64(v), Weight: rng.Float64()})
	}
	for _, together := range []bool{false, true} {
		g, err := superstep.FromEdges(t.Context(), edges,
			superstep.LoadOptions{Weights: superstep.Float64, Directed: true})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := g.Apply(t.Context(), pregel.Delta{AddVertices: []uint64{3}})
		if err != nil {
			t.Fatal(err)
		}
		run := func(g *superstep.Graph) {
			if _, err := superstep.Run(t.Context(), g, algorithms.SSSP[float64]{},
				superstep.Options{}); err != nil {
				t.Error(err)
			}
		}
		var both sync.WaitGroup
		if together {
			both.Go(func() { run(g) })
		}
		both.Go(func() { run(changed) })
		both.Wait()
		changed.Close()
		run(g)
		g.Close()
	}
}
