package graph_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
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

// weighed is an arc of a list, by its weight.
type weighed struct {
	weight float64
	to     uint32
}

// listOf returns a row of weighted lists.
func listOf(l *kernel.Lists, v uint32) (list []weighed) {
	lo, hi := l.Row(v)
	for i := lo; i < hi; i++ {
		if l.Weights32 != nil {
			list = append(list, weighed{float64(l.Weights32[i]), l.Adj[i]})
		} else {
			list = append(list, weighed{l.Weights64[i], l.Adj[i]})
		}
	}
	return list
}

func byWeight(a, b weighed) int {
	return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.to, b.to))
}

// TestLightest compares the lightest arcs with sorted lists: with few or thousands of arcs, few
// different weights, weights that are equal as float32, and zeros of either sign.
func TestLightest(t *testing.T) {
	yes := func(int64) bool { return true }
	for seed := range uint64(24) {
		if !sampled(seed) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		kind := []edges.Weights{edges.Float32, edges.Float64}[seed%2]
		n := 2 + rng.IntN(1500)
		var tuples [][2]uint64
		var weights []float64
		for range 60 * n {
			tuples = append(tuples, [2]uint64{uint64(rng.IntN(n)), uint64(min(rng.IntN(n),
				rng.IntN(n), rng.IntN(n), rng.IntN(n)))})
			weights = append(weights,
				[]float64{rng.Float64(), float64(rng.IntN(3)), 1 + rng.Float64()*1e-9, 0 * (rng.Float64() - .5)}[seed/2%4])
		}
		in := &edges.Input{Edges: edges.Pack(uint64(n), tuples,
			weights), Vertices: n, Directed: seed%3 == 0}
		parts := 1 + int(seed%2)*2
		t.Run(fmt.Sprintf("seed %d, %d vertices, %v, %d partitions", seed, n, kind, parts),
			func(t *testing.T) {
				g, err := build.Local(context.Background(), in,
					graph.Options{Weights: kind, Partitions: parts})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				team := parallel.NewTeam(1+int(seed%3), false)
				defer team.Close()
				for _, p := range g.Parts {
					if l, err := p.Lightest(t.Context(), team, func(int64) bool { return false }); l != nil || err != nil {
						t.Fatal("lists were made that were not to be", err)
					}
					before := g.Bytes()
					ctx, cancel := context.WithCancel(t.Context())
					if l, err := p.Lightest(ctx, team, func(int64) bool { cancel(); return true }); l != nil || !errors.Is(err, context.Canceled) || g.Bytes() != before {
						t.Fatalf("lists, the error %v, and %d bytes where there were %d, after the context ended", err, g.Bytes(), before)
					}
					light, err := p.Lightest(t.Context(), team,
						func(bytes int64) bool { before += bytes; return true })
					asked := before
					if again, _ := p.Lightest(t.Context(), team, yes); light == nil ||
						light != again || err != nil {
						t.Fatal("lists were not made, or again")
					}
					if grown := g.Bytes(); grown < asked || grown > asked+3*64 {
						t.Errorf("%d bytes are held, %d were said", grown, asked)
					}
					whole := &p.Layout(pregel.Out).Blocks[0].Pull.ByReceiver.Lists
					for v := range uint32(64 * len(whole.Bits)) {
						all, some := listOf(whole, v), listOf(light, v)
						want := len(all)
						if want > 8 {
							want = 8 + (want-8)/16
						}
						if !slices.IsSortedFunc(some, func(a, b weighed) int { return cmp.Compare(a.weight, b.weight) }) || len(some) != want {
							t.Fatalf("vertex %d: %v is not %d sorted arcs", v, some, want)
						}
						slices.SortFunc(all, byWeight)
						left := slices.Clone(all)
						for i, a := range some {
							if a.weight != all[i].weight {
								t.Fatalf("vertex %d: arc %d has weight %v, expected %v", v, i,
									a.weight, all[i].weight)
							}
							k := slices.Index(left, a)
							if k < 0 {
								t.Fatalf("vertex %d: arc %v is not in its list, or twice here", v,
									a)
							}
							left = slices.Delete(left, k, k+1)
						}
					}
				}
			})
	}
}

// TestNoLightest: graphs that may have negative weights, that have no weights, or that have short
// lists have no lightest arcs.
func TestNoLightest(t *testing.T) {
	for _, x := range []struct {
		what    string
		degree  int
		kind    edges.Weights
		weights float64
		grid    graph.Grid
		have    bool
	}{
		{"as usual", 60, edges.Float64, 1, graph.Grid{}, true},
		{"short lists", 20, edges.Float64, 1, graph.Grid{}, false},
		{"a negative weight", 60, edges.Float64, -1, graph.Grid{}, false},
		{"no weights", 60, edges.Unweighted, 1, graph.Grid{}, false},
		{"a grid", 60, edges.Float64, 1, graph.Grid{Rows: 2, Columns: 2}, false},
	} {
		var tuples [][2]uint64
		var weights []float64
		for i := range 300 * x.degree {
			tuples = append(tuples, [2]uint64{uint64(i % 300), uint64(i * 7 % 299)})
			weights = append(weights, 1)
		}
		weights[5] = x.weights
		o := graph.Options{Weights: x.kind, Grid: x.grid, Partitions: max(1,
			x.grid.Rows*x.grid.Columns)}
		g, err := build.Local(context.Background(),
			&edges.Input{Edges: edges.Pack(300, tuples, weights), Vertices: 300, Directed: true}, o)
		if err != nil {
			t.Fatal(err)
		}
		team := parallel.NewTeam(1, false)
		if got, err := g.Parts[0].Lightest(t.Context(), team, func(int64) bool { return true }); (got != nil) != x.have || err != nil {
			t.Errorf("%s: lightest arcs %t, expected %t, %v", x.what, got != nil, x.have, err)
		}
		team.Close()
		g.Close()
	}
}

// TestThinned sorts random arcs of several workers by sender, twice into the same lists.
func TestThinned(t *testing.T) {
	store := &mem.Arena{}
	defer store.Close()
	for seed := range uint64(16) {
		if !sampled(seed) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 2))
		slots := 64 * (1 + rng.IntN(80))
		shift := uint(6 + rng.IntN(4))
		like := &kernel.Lists{Weights32: []float32{}}
		if seed%2 == 1 {
			like = &kernel.Lists{Weights64: []float64{}}
		}
		var lists graph.Adjacency
		team := parallel.NewTeam(1+int(seed%3), false)
		for range 2 {
			want := make([][]weighed, slots)
			var bins []*kernel.ArcBins
			for range 1 + rng.IntN(3) {
				b := &kernel.ArcBins{Store: store, Shift: shift, Arcs: make([][]kernel.Arc,
					(slots-1)>>shift+1)}
				for range rng.IntN(10 * slots) {
					a := kernel.Arc{
						From: uint32(min(rng.IntN(slots),
							rng.IntN(slots))), To: uint32(rng.IntN(slots)),
						Weight: float64(rng.IntN(1000)) / 8,
					}
					b.Add(a)
					want[a.From] = append(want[a.From], weighed{a.Weight, a.To})
				}
				bins = append(bins, b)
			}
			graph.Thinned(&lists, bins, like, slots, team, store)
			total := 0
			for v := range uint32(slots) {
				got := listOf(&lists.Lists, v)
				slices.SortFunc(got, byWeight)
				slices.SortFunc(want[v], byWeight)
				if !slices.Equal(got, want[v]) {
					t.Fatalf("seed %d: the arcs of %d are %v, expected %v", seed, v, got, want[v])
				}
				total += len(got)
			}
			if len(lists.Adj) != total || int(lists.Chunks[len(lists.Chunks)-1]) != slots/64 ||
				bits.OnesCount64(lists.Bits[0]) != 64 {
				t.Fatalf("seed %d: %d arcs in all, expected %d; chunks %v", seed, len(lists.Adj),
					total, lists.Chunks)
			}
		}
		team.Close()
	}
}
