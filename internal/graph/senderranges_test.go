package graph_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestCutSenders puts the parts of each list together again.
func TestCutSenders(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(40000)
		var tuples [][2]uint64
		for range rng.IntN(4 * n) {
			tuples = append(tuples, [2]uint64{uint64(rng.IntN(n)), uint64(rng.IntN(1 + rng.IntN(n)))})
		}
		in := &edges.Input{Edges: edges.Pack(uint64(n), tuples, nil), Vertices: n, Directed: seed%2 == 0}
		g, err := build.Local(context.Background(), in, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := g.Parts[0].Layout(pregel.Out).Blocks[0].Pull.ByReceiver
		cuts := []uint32{uint32(1 + rng.IntN(n))}
		for range rng.IntN(3) {
			cuts = append(cuts, cuts[len(cuts)-1]+uint32(1+rng.IntN(n)))
		}
		t.Run(fmt.Sprintf("seed %d, %d vertices, cuts %v", seed, n, cuts), func(t *testing.T) {
			team := parallel.NewTeam(1+int(seed%3), false)
			defer team.Close()
			arena, asked := &mem.Arena{}, 0
			defer arena.Close()
			if a.CutSenders(cuts, team, arena, func(int, int64) bool { return false }) != nil {
				t.Fatal("lists are cut that were not to be")
			}
			checkCut(t, a, cuts, a.CutSenders(cuts, team, arena, func(arcs int, _ int64) bool { asked = arcs; return true }), &asked)
		})
		g.Close()
	}
}

// checkCut checks the parts of all lists, whose arcs after the first parts were said to be so many.
func checkCut(t *testing.T, a *graph.Adjacency, cuts []uint32, c *graph.SenderRanges, rest *int) {
	t.Helper()
	for v := range uint32(len(a.Bits) * 64) {
		lo, hi := a.Row(v)
		var together []uint32
		if lo < hi {
			row := a.Rank[v>>6]
			for i := v &^ 63; i < v; i++ {
				row += uint32(a.Bits[v>>6] >> (i & 63) & 1)
			}
			together = append(together, a.Adj[lo:c.Ends[row]]...)
		}
		if n := len(together); n > 0 && together[n-1] >= cuts[0] {
			t.Fatalf("vertex %d has sender %d in the first range", v, together[n-1])
		}
		for k := range c.Rest {
			l := &c.Rest[k]
			from, to := l.Row(v)
			part := l.Adj[from:to]
			if (l.Bits[v>>6]>>(v&63)&1 != 0) != (len(part) > 0) {
				t.Fatalf("vertex %d has an empty list in range %d", v, k+1)
			}
			for _, s := range part {
				if s < cuts[k] || k+1 < len(cuts) && s >= cuts[k+1] {
					t.Fatalf("vertex %d has sender %d in range %d", v, s, k+1)
				}
			}
			together = append(together, part...)
			*rest -= len(part)
		}
		if !slices.Equal(together, a.Adj[lo:hi]) {
			t.Fatalf("the parts of vertex %d are %v of %v", v, together, a.Adj[lo:hi])
		}
	}
	if *rest != 0 {
		t.Errorf("%d arcs more were announced than copied", *rest)
	}
}
