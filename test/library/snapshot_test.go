package library_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/pregel"
)

// saved saves the graph of a file. It returns the directory.
func saved(t *testing.T, name string, r load.Request, o graph.Options) string {
	t.Helper()
	r.Name = name
	g, in, err := load.Build(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	defer in.Close()
	dir := t.TempDir()
	s, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edgeFile writes a random edge list with sparse ids, duplicates and loops.
func edgeFile(t *testing.T, seed uint64, vertices, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	var lines strings.Builder
	id := func() int { return 10 + 1000*(rng.IntN(vertices)*rng.IntN(vertices)/vertices) }
	for range n {
		u, v := id(), id()
		for range 1 + rng.IntN(2) {
			fmt.Fprintf(&lines, "%d %d %g\n", u, v, float64(rng.IntN(64))/8)
		}
	}
	name := filepath.Join(t.TempDir(), "random.wel")
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// outcomes returns the results of several algorithms on a graph.
func outcomes(t *testing.T, g *superstep.Graph, single bool) map[string]map[uint64]float64 {
	t.Helper()
	all := map[string]map[uint64]float64{}
	o := superstep.Options{Threads: 2}
	source, ok := g.Vertex(10)
	if !ok {
		t.Fatal("there is no vertex 10")
	}
	levels, err := superstep.Run(t.Context(), g, algorithms.BFSLevels{Source: source}, o)
	collect(t, all, "bfs", levels, err)
	ranks, err := superstep.Run(t.Context(), g, algorithms.PageRank{Damping: 0.85, Iterations: 5},
		o)
	collect(t, all, "pagerank", ranks, err)
	groups, err := superstep.Run(t.Context(), g, algorithms.WCC{}, o)
	if err != nil {
		t.Fatal(err)
	}
	all["wcc"] = map[uint64]float64{}
	for label, group := range groups.All() {
		all["wcc"][label] = float64(g.Label(group))
	}
	if single {
		ways, err := superstep.Run(t.Context(), g, algorithms.SSSP[float32]{Source: source}, o)
		collect(t, all, "sssp", ways, err)
	} else {
		ways, err := superstep.Run(t.Context(), g, algorithms.SSSP[float64]{Source: source}, o)
		collect(t, all, "sssp", ways, err)
	}
	return all
}

func collect[V int64 | float32 | float64 | pregel.VertexID](
	t *testing.T, all map[string]map[uint64]float64, name string, r *superstep.Result[V], err error,
) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	all[name] = map[uint64]float64{}
	for label, v := range r.All() {
		all[name][label] = float64(v)
	}
}

func compareOutcomes(t *testing.T, what string, want, got map[string]map[uint64]float64) {
	t.Helper()
	for name := range want {
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }
		if !maps.EqualFunc(want[name], got[name], near) {
			t.Errorf("%s: the results of %s differ", what, name)
		}
	}
}

// TestSnapshotResults: every algorithm has the same results on a snapshot as on the graph's source,
// with the saved and with other partitions and grids.
func TestSnapshotResults(t *testing.T) {
	layouts := []superstep.LoadOptions{{}, {Partitions: 1}, {Partitions: 5}, {Grid: superstep.Grid{Rows: 2, Columns: 2}}, {Grid: superstep.Grid{Rows: 1, Columns: 3}}, {Weights: superstep.Float64}}
	seed := uint64(0)
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}} {
		for _, directed := range []bool{false, true} {
			for _, weights := range []edges.Weights{edges.Float32, edges.Float64} {
				for _, o := range []graph.Options{{}, {Duplicates: graph.LeastDuplicate, DropLoops: true}} {
					seed++
					o.Grid, o.Weights = grid, weights
					t.Run(fmt.Sprintf("%v/directed=%t/weights=%d/%v", grid, directed, weights,
						o.Duplicates), func(t *testing.T) {
						file := edgeFile(t, seed, 80, 300)
						dir := saved(t, file, load.Request{Directed: &directed, Weights: weights},
							o)
						po := superstep.LoadOptions{Directed: directed, Undirected: !directed, Duplicates: superstep.Duplicates(o.Duplicates)}
						if o.DropLoops {
							po.SelfLoops = superstep.DropSelfLoops
						}
						plain, err := superstep.Load(t.Context(), file, po)
						want := outcomes(t, open(t, plain, err), false)
						for _, layout := range layouts {
							g, err := superstep.Load(t.Context(), dir, layout)
							open(t, g, err)
							if layout.Partitions+layout.Grid.Rows == 0 &&
								g.Grid() != superstep.Grid(grid) {
								t.Errorf("found a grid of %v, expected %v", g.Grid(), grid)
							}
							compareOutcomes(t, fmt.Sprintf("%+v", layout), want,
								outcomes(t, g, weights == edges.Float32 &&
									layout.Weights == superstep.IfAny))
						}
					})
				}
			}
		}
	}
}
