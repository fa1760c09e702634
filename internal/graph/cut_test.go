package graph_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestGridsAgainstSlowTwin: in every grid each arc is in the block of graph.Grid.Arc, lists are in
// ascending order of ids, and both partitions of a column agree. The same holds for the reversed
// arcs.
func TestGridsAgainstSlowTwin(t *testing.T) {
	sizes := [][2]int{{1, 3}, {2, 1}, {5, 8}, {64, 50}, {300, 3000}, {2000, 6000}}
	gridsAgainstSlowTwin(t, sizes, graph.Grid{Rows: 2, Columns: 2}, graph.Grid{Rows: 3, Columns: 2},
		graph.Grid{Rows: 2, Columns: 3}, graph.Grid{Rows: 4, Columns: 4},
		graph.Grid{Rows: 2, Columns: 5}, graph.Grid{Rows: 1, Columns: 3},
		graph.Grid{Rows: 4, Columns: 1})
}

// gridsAgainstSlowTwin builds random graphs with these numbers of vertices and edges.
func gridsAgainstSlowTwin(t *testing.T, sizes [][2]int, grids ...graph.Grid) {
	t.Helper()
	seed := uint64(100)
	for _, size := range sizes {
		for _, grid := range grids {
			for variant := range 6 {
				if seed++; !sampled(seed) {
					continue
				}
				rng := rand.New(rand.NewPCG(seed, 1))
				tuples, weights := randomTuples(rng, size[0], size[1])
				o := graph.Options{
					Grid: grid, Duplicates: graph.Duplicates(variant % 4),
					DropLoops: variant%3 == 0,
					Weights:   edges.Weights(rng.IntN(3)), UnitWeights: rng.IntN(5) == 0,
					Team:       parallel.NewTeam(1+rng.IntN(3), false),
					InputOrder: rng.IntN(4) == 0, Deal: []string{"", "64:", "64:1,40"}[seed%3],
				}
				in := &edges.Input{
					Name: "random", Edges: edges.Pack(uint64(size[0]), tuples, weights),
					Vertices: size[0], Directed: variant%2 == 1,
				}
				g, err := build.Local(context.Background(), in, o)
				if err != nil {
					t.Fatal(err)
				}
				want := slowly(size[0], tuples, weights, in.Directed, o)
				if err := compareGrid(g, want); err != nil {
					t.Fatalf("seed %d, %d vertices, directed %t, %+v: %v", seed, size[0],
						in.Directed, o, err)
				}
				same, err := build.Local(context.Background(), g.Input(),
					graph.Options{Grid: graph.Of(1), Weights: g.Weights, InputOrder: o.InputOrder})
				if err != nil {
					t.Fatal(err)
				}
				if err := compare(same, want, graph.Options{Weights: g.Weights}); err != nil {
					t.Fatalf("seed %d, %+v, as tuples again: %v", seed, o, err)
				}
				same.Close()
				g.Close()
				o.Team.Close()
			}
		}
	}
}

// arcOf is an arc of the twin, from sender to receiver.
type arcOf struct {
	u, v   uint64
	weight float64
}

func compareGrid(g *graph.Graph, want twin) error {
	arcs := 0
	for _, direction := range []pregel.Direction{pregel.Out, pregel.In} {
		lists := want.in
		if direction == pregel.In {
			lists = want.out
		}
		blocks := make([][]arcOf, len(g.Parts))
		for v, list := range lists {
			for _, u := range list {
				a := g.Options.Grid.Arc(ownerOf(g, u.id), ownerOf(g, uint64(v)))
				blocks[a] = append(blocks[a], arcOf{u.id, uint64(v), u.weight})
				arcs++
			}
		}
		side := func(of func(b *graph.Block) *graph.Side) func(p *graph.Partition) *graph.Side {
			return func(p *graph.Partition) *graph.Side { return of(p.Layout(direction).Blocks[0].Pull) }
		}
		for i, p := range g.Parts {
			l := p.Layout(direction)
			if g.Options.Grid.Flat() {
				continue // covered by TestBuildAgainstSlowTwin
			}
			b := l.Blocks[0].Pull
			if b != l.Blocks[0].Push {
				return fmt.Errorf("partition %d has two blocks", i)
			}
			if err := compareBlock(p, l, b, blocks[i]); err != nil {
				return fmt.Errorf("partition %d, direction %d: %w", i, direction, err)
			}
			for _, s := range []func(p *graph.Partition) *graph.Side{side(func(b *graph.Block) *graph.Side { return b.Senders }), side(func(b *graph.Block) *graph.Side { return b.Receivers })} {
				for _, q := range s(p).Line {
					if err := compareColumn(l, g.Parts[q], p.Index, s(p),
						s(g.Parts[q])); err != nil {
						return err
					}
				}
			}
			for q, list := range b.Receivers.Ghosts {
				known := g.Parts[q].Layout(direction).Blocks[0].Pull.Receivers.Peers.Of(i)
				members := make([]uint64, len(list.Bits))
				known.Each(func(i uint32) { bitmap.Set(members, i) })
				if !slices.Equal(list.Bits, members) {
					return fmt.Errorf("partition %d: its ghosts of %d are not those of %d's list",
						i, q, q)
				}
			}
		}
	}
	if arcs != 2*int(g.Arcs) {
		return fmt.Errorf("%d arcs, want %d", g.Arcs, arcs/2)
	}
	return nil
}

// compareBlock checks the lists of a block against its expected arcs, by receiver and ascending
// sender.
func compareBlock(p *graph.Partition, l graph.Layout, b *graph.Block, want []arcOf) error {
	var got []arcOf
	bitmap.Each(b.ByReceiver.Bits, func(v uint32) {
		lo, hi := b.ByReceiver.Row(v)
		for j := lo; j < hi; j++ {
			a := arcOf{uint64(l.Slots.ID(b.ByReceiver.Adj[j])), uint64(l.Slots.ID(v)), 1}
			switch {
			case b.ByReceiver.Weights32 != nil:
				a.weight = float64(b.ByReceiver.Weights32[j])
			case b.ByReceiver.Weights64 != nil:
				a.weight = b.ByReceiver.Weights64[j]
			default:
				a.weight = 0
			}
			got = append(got, a)
		}
	})
	slices.SortStableFunc(got, func(x, y arcOf) int { return int(x.v) - int(y.v) })
	if len(got) != len(want) {
		return fmt.Errorf("%d arcs, want %d", len(got), len(want))
	}
	for i, a := range got {
		w := want[i]
		if b.ByReceiver.Weights32 == nil && b.ByReceiver.Weights64 == nil {
			w.weight = 0
		}
		if a != w {
			return fmt.Errorf("arc %d is %v, want %v", i, a, w)
		}
	}
	return compareViews(p, b, l.Count)
}

// ownerOf returns the partition of a vertex.
func ownerOf(g *graph.Graph, id uint64) int {
	q, _ := g.Deal.Of(uint32(id))
	return q
}

func TestGridsThatAreNone(t *testing.T) {
	in := &edges.Input{Name: "g", Edges: edges.Pack(3, [][2]uint64{{0, 1}}, nil), Vertices: 3}
	for _, o := range []graph.Options{
		{Grid: graph.Grid{Rows: 2, Columns: 0}},
		{Grid: graph.Grid{Rows: -2, Columns: -2}},
		{Grid: graph.Grid{Rows: 2, Columns: 2}, Partitions: 3},
		{Grid: graph.Grid{Rows: 100, Columns: 100}},
		{Partitions: 1 << 50},
	} {
		if _, err := build.Local(t.Context(), in, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
