package engine_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
)

// ablationGrids returns every grid from 1 x 1 to 4 x 4, and some longer ones.
func ablationGrids() []graph.Grid {
	all := []graph.Grid{{Rows: 1, Columns: 7}, {Rows: 7, Columns: 1}, {Rows: 5, Columns: 2}, {Rows: 2, Columns: 6}}
	for rows := 1; rows <= 4; rows++ {
		for columns := 1; columns <= 4; columns++ {
			all = append(all, graph.Grid{Rows: rows, Columns: columns})
		}
	}
	return all
}

// ablation is a random graph in a random grid, with random values of all switches that the papers
// compare.
type ablation struct {
	shape
	setting
	inputOrder bool
}

func newAblation(rng *rand.Rand) ablation {
	grids := ablationGrids()
	a := ablation{inputOrder: rng.IntN(4) == 0}
	a.grid = grids[rng.IntN(len(grids))]
	a.parts, a.threads = a.grid.Partitions(), 1+rng.IntN(2*a.grid.Partitions())
	a.o = engine.Options{Experiment: delivery.Experiment{Encoding: delivery.Encoding(rng.IntN(4)), Serial: rng.IntN(2) == 0}}
	choices := []delivery.Choice{delivery.ChooseAuto, delivery.ChoosePush, delivery.ChoosePull, delivery.ChooseBeamer, delivery.ChooseBlockPull}
	if a.grid.Flat() {
		choices = append(choices, delivery.ChooseNaive, delivery.ChooseMirrored,
			delivery.ChooseLalp)
		a.o.Sizes.HubWords = rng.IntN(4)
		a.o.Deterministic = rng.IntN(4) == 0
	}
	if a.o.Delivery = choices[rng.IntN(len(choices))]; a.o.Deterministic &&
		!a.o.Delivery.Allows(delivery.Pull) {
		a.o.Delivery = delivery.ChooseAuto
	}
	a.o.Uncombined = rng.IntN(4) == 0 && a.o.Delivery.Allows(delivery.Naive) && !a.o.Deterministic

	a.n, a.directed = 1+rng.IntN(200), rng.IntN(2) == 0
	a.weights = []float64{} // the graph has weights even if it has no tuples
	skewed := rng.IntN(2) == 0
	for range rng.IntN(8 * a.n) {
		u, v := rng.IntN(a.n), rng.IntN(a.n)
		if skewed {
			v = rng.IntN(v + 1)
		}
		a.tuples = append(a.tuples, [2]uint64{uint64(u), uint64(v)})
		a.weights = append(a.weights, float64(rng.IntN(64))/64)
	}
	return a
}

// run runs programs, and compares their results with those of sequential twins.
func (a ablation) run(t *testing.T, where string, source int) {
	t.Helper()
	a.name = fmt.Sprintf("%s: %d vertices, %d tuples, directed %t, input's order %t", where, a.n,
		len(a.tuples), a.directed, a.inputOrder)
	out, weights := a.adjacency()
	level, dist := levels(out, source), distances(out, weights, source)
	in := &edges.Input{Name: a.name, Edges: edges.Pack(uint64(a.n), a.tuples,
		a.weights), Vertices: a.n, Directed: a.directed}
	g, err := build.Local(t.Context(), in,
		graph.Options{Partitions: a.parts, Grid: a.grid, Weights: edges.Float64, InputOrder: a.inputOrder})
	check(t, err)
	defer g.Close()
	id, _ := g.Find(uint64(source))

	found, _ := run(t, g, algorithms.BFSLevels{Source: id}, a.setting)
	distance, _ := run(t, g, algorithms.SSSP[float64]{Source: id}, a.setting)
	for v := range level {
		if found[v] != level[v] || distance[v] != dist[v] {
			t.Fatalf("%s, %v: vertex %d has level %d and distance %g, want %d and %g", a.name,
				a.setting, v, found[v], distance[v], level[v], dist[v])
		}
	}
	parents, _ := run(t, g, algorithms.BFS{Source: id}, a.setting)
	checkTree(t, a.shape, a.setting, g.Order, out, level, parents)
	ring := a.setting
	if ring.o.Deterministic, ring.o.Uncombined, ring.o.Delivery = false, false,
		delivery.ChooseRingPull; !a.grid.Flat() {
		parents, _ = run(t, g, algorithms.BFS{Source: id}, ring)
		checkTree(t, a.shape, ring, g.Order, out, level, parents)
	}
	rank, _ := run(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 4}, a.setting)
	for v, want := range ranking(out, 4) {
		if math.Abs(rank[v]-want) > 1e-12 {
			t.Fatalf("%s, %v: rank of %d is %g, want %g", a.name, a.setting, v, rank[v], want)
		}
	}
}

// flatOnly has the deliveries for flat grids only.
var flatOnly = []delivery.Choice{
	delivery.ChooseNaive, delivery.ChooseMirrored, delivery.ChooseLalp,
}

// switches returns the switches that the papers compare. The functions report whether the switch
// works in every grid.
func switches() map[string]func(a *ablation) (anyGrid bool) {
	all := map[string]func(a *ablation) bool{
		"overlap off":   func(a *ablation) bool { a.o.Serial = true; return true },
		"combine off":   func(a *ablation) bool { a.o.Uncombined = true; return true },
		"input's order": func(a *ablation) bool { a.inputOrder = true; return true },
		"deterministic": func(a *ablation) bool { a.o.Deterministic = true; return false },
	}
	for _, d := range []delivery.Choice{
		delivery.ChooseAuto, delivery.ChoosePush, delivery.ChoosePull, delivery.ChooseBeamer,
		delivery.ChooseBlockPull, delivery.ChooseNaive, delivery.ChooseMirrored,
		delivery.ChooseLalp,
	} {
		all["delivery "+d.String()] = func(a *ablation) bool {
			a.o.Delivery = d
			return !slices.Contains(flatOnly, d)
		}
	}
	for e := range delivery.Encoding(4) {
		all["encoding "+e.String()] = func(a *ablation) bool { a.o.Encoding = e; return true }
	}
	return all
}

// TestEveryAblationInEveryGrid runs programs in every grid with a fourth of the switches, one switch at
// a time. The other switches have their defaults. Other grids have the others.
func TestEveryAblationInEveryGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 13))
	for i, grid := range ablationGrids() {
		if raced && i%4 != 0 {
			continue
		}
		all := switches()
		for k, name := range slices.Sorted(maps.Keys(all)) {
			if (i+i/4+k)%4 > 0 { // neither rows nor columns alone decide
				continue
			}
			turn, a := all[name], newAblation(rng)
			a.grid, a.parts, a.inputOrder, a.o = grid, grid.Partitions(), false, engine.Options{}
			if turn(&a) || grid.Flat() {
				a.run(t, fmt.Sprintf("%v, %s", grid, name), rng.IntN(a.n))
			}
		}
	}
}

// TestAblationsAgainstTwins runs programs with random switches in every grid.
func TestAblationsAgainstTwins(t *testing.T) {
	rounds := uint64(30)
	if raced {
		rounds = 10
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 11))
		a := newAblation(rng)
		if grids := ablationGrids(); seed < uint64(len(grids)) &&
			a.grid.Flat() == grids[seed].Flat() {
			a.grid, a.parts = grids[seed], grids[seed].Partitions()
		}
		a.run(t, fmt.Sprintf("seed %d", seed), rng.IntN(a.n))
	}
}

// FuzzAblations is TestAblationsAgainstTwins with arbitrary seeds: go test -fuzz Ablations
// ./internal/engine
func FuzzAblations(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 12))
		a := newAblation(rng)
		a.run(t, fmt.Sprintf("seed %d", seed), rng.IntN(a.n))
	})
}
