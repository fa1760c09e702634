package graph_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/pregel"
)

// crowdedTuples returns edges that are nearly all in the block of partition 0 of a grid, so that
// this block has more of them than any owner. In a directed graph they lead from its column to its
// row. In an undirected graph half of them occur twice.
func crowdedTuples(rng *rand.Rand, n, m int, grid graph.Grid, directed bool) [][2]uint64 {
	parts := uint64(grid.Partitions())
	of := func(owner int) uint64 { return rng.Uint64N(uint64(n)/parts)*parts + uint64(owner) }
	var tuples [][2]uint64
	for range m {
		u, v := rng.IntN(grid.Rows), grid.At(0, rng.IntN(grid.Columns))
		if !directed && rng.IntN(3) == 0 {
			u, v = 0, 0
		}
		tuples = append(tuples, [2]uint64{of(u), of(v)})
	}
	return tuples
}

// buildOver builds a graph over some ranks, each with a part of the tuples and its own budget.
func buildOver(
	t *testing.T, ranks int, tuples [][2]uint64, n int, directed bool, o graph.Options,
	meters []*mem.Budget,
) ([]*graph.Graph, []error) {
	t.Helper()
	graphs, errs := make([]*graph.Graph, ranks), make([]error, ranks)
	if ranks == 1 {
		o.Budget = mem.NewBudget(1<<40, "")
		meters[0] = o.Budget
		in := &edges.Input{Name: "crowded", Edges: edges.Pack(uint64(n), tuples,
			nil), Vertices: n, Directed: directed}
		graphs[0], errs[0] = build.Local(t.Context(), in, o)
		return graphs, errs
	}
	owner := make([]int, o.Grid.Partitions())
	for p := range owner {
		owner[p] = p % ranks
	}
	links := memlink.New(ranks, nil)
	var all sync.WaitGroup
	for rank := range ranks {
		group, err := collective.NewGroup(links.Link(rank), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			o := o
			o.Budget = mem.NewBudget(1<<40, "")
			meters[rank] = o.Budget
			lo, hi := edges.Part(len(tuples), rank, ranks)
			share := edges.Whole(&edges.Input{Name: "crowded", Edges: edges.Pack(uint64(n),
				tuples[lo:hi], nil), Vertices: n, Directed: directed}, 0)
			g, d, err := build.Graph(t.Context(), group, 10, share, owner, o)
			if err == nil {
				d.Close()
			}
			graphs[rank], errs[rank] = g, err
		})
	}
	all.Wait()
	return graphs, errs
}

// TestTooMuchForOnePartition: a graph is rejected on all ranks if a partition would have one arc or
// 64 slots too many. The error tells the remedy, and no memory remains. With the largest allowed
// numbers the graph is built.
func TestTooMuchForOnePartition(t *testing.T) {
	const n, m = 600, 2000
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}, {Rows: 3, Columns: 2}} {
		for _, directed := range []bool{false, true} {
			for _, ranks := range []int{1, 3} {
				if ranks > grid.Partitions() || testing.Short() && directed != (ranks == 3) {
					continue
				}
				tuples := crowdedTuples(rand.New(rand.NewPCG(uint64(ranks), 8)), n, m, grid,
					directed)
				o := graph.Options{Grid: grid, InputOrder: true}
				arcs, slots := 0, 0
				try := func(mostArcs, mostSlots int, want string) {
					t.Helper()
					defer graph.SetMost(mostArcs, mostSlots)()
					meters := make([]*mem.Budget, ranks)
					graphs, errs := buildOver(t, ranks, tuples, n, directed, o, meters)
					for rank, err := range errs {
						switch {
						case err == nil && want == "":
							a, s := graphs[rank].Most()
							arcs, slots = max(arcs, a), max(slots, s)
							graphs[rank].Close()
						case err == nil:
							t.Errorf("%v, directed %t, %d ranks: no error, want %q", grid, directed,
								ranks, want)
							graphs[rank].Close()
						case want == "" || !strings.Contains(err.Error(), want) ||
							strings.Contains(err.Error(), "\n") ||
							!strings.Contains(err.Error(), "--grid"):
							t.Errorf("%v, directed %t, %d ranks: rank %d: error %v, want %q", grid,
								directed, ranks, rank, err, want)
						}
						if now := meters[rank].Use().Memory; now != 0 {
							t.Errorf("%v, directed %t, %d ranks, %q: %d bytes are still there",
								grid, directed, ranks, want, now)
						}
					}
				}
				try(graph.MostArcs, graph.MostSlots, "")
				try(arcs, slots, "")
				try(arcs-1, slots, "edges in one partition: at most")
				if grid.Partitions() > 1 {
					try(arcs, slots-64, "vertices and ghosts in one partition: at most")
				}
			}
		}
	}
}

// TestBlockHasMoreThanOwners: the graphs of the previous test really have more arcs in a block than
// any owner has in its lists.
func TestBlockHasMoreThanOwners(t *testing.T) {
	grid := graph.Grid{Rows: 2, Columns: 2}
	for _, directed := range []bool{false, true} {
		tuples := crowdedTuples(rand.New(rand.NewPCG(1, 8)), 600, 2000, grid, directed)
		in := &edges.Input{Name: "crowded", Edges: edges.Pack(600, tuples,
			nil), Vertices: 600, Directed: directed}
		g, err := build.Local(t.Context(), in, graph.Options{Grid: grid, InputOrder: true})
		if err != nil {
			t.Fatal(err)
		}
		most, _ := g.Most()
		for _, p := range g.Parts {
			sum := 0
			for _, d := range p.InDegrees {
				sum += int(d)
			}
			if sum >= most {
				t.Errorf("directed %t: partition %d owns %d arcs, the largest block has %d",
					directed, p.Index, sum, most)
			}
		}
		g.Close()
	}
}

// TestChangeTooMuchForOnePartition: a change is rejected if a partition would have too many arcs,
// slots or edits. The graph does not change.
func TestChangeTooMuchForOnePartition(t *testing.T) {
	for _, grid := range []graph.Grid{{Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}} {
		for _, directed := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(5, 8))
			const n = 600
			meter := mem.NewBudget(1<<40, "")
			tuples := crowdedTuples(rng, n, 300, grid, directed)
			in := &edges.Input{Name: "crowded", Edges: edges.Pack(n, tuples,
				nil), Vertices: n, Directed: directed}
			g, err := build.Local(t.Context(), in,
				graph.Options{Grid: grid, InputOrder: true, Budget: meter})
			if err != nil {
				t.Fatal(err)
			}
			var d pregel.Delta
			for _, e := range crowdedTuples(rng, n, 200, grid, directed) {
				d.AddEdges = append(d.AddEdges, pregel.InputEdge{From: e[0], To: e[1]})
			}
			many := pregel.Delta{RemoveEdges: slices.Repeat([]pregel.InputEdge{{From: tuples[0][0], To: tuples[0][1]}}, 3000)}
			apply := func(d pregel.Delta, arcs, slots int) (*graph.Graph, error) {
				defer graph.SetMost(arcs, slots)()
				next, _, err := g.Apply(t.Context(), d, nil)
				return next, err
			}
			next, err := apply(d, graph.MostArcs, graph.MostSlots)
			if err != nil {
				t.Fatal(err)
			}
			arcs, slots := next.Most()
			next.Close()
			before := meter.Use().Memory
			for _, c := range []struct {
				d           pregel.Delta
				arcs, slots int
				want        string
			}{
				{d, arcs - 1, slots, "edges in one partition: at most"},
				{d, arcs, slots - 64, "vertices and ghosts in one partition: at most"},
				{many, arcs, slots, "000 changes of edges in one partition: at most"},
			} {
				if _, err := apply(c.d, c.arcs, c.slots); err == nil ||
					!strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, directed %t: error %v, want %q", grid, directed, err, c.want)
				}
				if now := meter.Use().Memory; now != before {
					t.Errorf("%v, directed %t, %q: %d bytes, %d before", grid, directed, c.want,
						now, before)
				}
			}
			if next, err = apply(d, arcs, slots); err != nil {
				t.Errorf("%v, directed %t: %v", grid, directed, err)
			} else {
				next.Close()
			}
			g.Close()
		}
	}
}
