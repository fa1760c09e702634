package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestCutSenders puts the parts of each list together again.
func TestCutSenders(t *testing.T) {
	uncut := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(40000)
		if seed == 0 {
			n = 200_000 // so that a range is wider than 2^16
		}
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
			arena, asked := &mem.Arena{}, []int(nil)
			defer arena.Close()
			if ranges, _, err := a.CutSenders(t.Context(), cuts, 0, team, arena, func([]int, int64) bool { return false }); ranges != nil || err != nil {
				t.Fatal("lists are cut that were not to be", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if ranges, _, err := a.CutSenders(ctx, cuts, 0, team, arena, func([]int, int64) bool { cancel(); return true }); ranges != nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("lists are cut, or the error %v, after the context ended", err)
			}
			ranges, whole, err := a.CutSenders(t.Context(), cuts, int(seed%3), team, arena, func(arcs []int, _ int64) bool { asked = arcs; return true })
			if err != nil {
				t.Fatal(err)
			}
			uncut += checkCut(t, a, cuts, ranges, whole, asked)
		})
		g.Close()
	}
	if uncut < 64 {
		t.Errorf("%d lists were left whole: expected 64 at the least", uncut)
	}
}

// checkCut checks the parts of all lists, which were said to have so many arcs in each range, and returns how many are left whole.
func checkCut(t *testing.T, a *graph.Adjacency, cuts []uint32, ranges []graph.SenderRange, whole *kernel.Lists, arcs []int) (uncut int) {
	t.Helper()
	bounds := append(append([]uint32{0}, cuts...), uint32(len(a.Bits)*64)+cuts[len(cuts)-1])
	for v := range uint32(len(a.Bits) * 64) {
		var together []uint32
		if lo, hi := whole.Row(v); hi > lo {
			together = append(together, whole.Adj[lo:hi]...)
			uncut++
		}
		for k := range ranges {
			l := &ranges[k]
			from, to := l.Row(v)
			if narrow := k < len(cuts) && bounds[k+1]-bounds[k] <= graph.Width16; narrow != (l.Adj == nil) || narrow != (l.Adj16 != nil) {
				t.Fatalf("range %d has lists of the wrong kind", k)
			}
			if (l.Bits[v>>6]>>(v&63)&1 != 0) != (to > from) {
				t.Fatalf("vertex %d has an empty list in range %d", v, k)
			}
			for j := from; j < to; j++ {
				var s uint32
				if l.Adj16 != nil {
					s = l.First + uint32(l.Adj16[j])
				} else {
					s = l.Adj[j]
				}
				if s < bounds[k] || s >= bounds[k+1] {
					t.Fatalf("vertex %d has sender %d in range %d", v, s, k)
				}
				together = append(together, s)
			}
			arcs[k] -= int(to - from)
		}
		lo, hi := a.Row(v)
		if !slices.Equal(together, a.Adj[lo:hi]) {
			t.Fatalf("the parts of vertex %d are %v of %v", v, together, a.Adj[lo:hi])
		}
	}
	for k, n := range arcs {
		if n != 0 {
			t.Errorf("%d arcs more were announced for range %d than copied", n, k)
		}
	}
	return uncut
}
