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
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestTiles reassembles each list from its parts.
func TestTiles(t *testing.T) {
	for seed := range uint64(20) {
		if seed > 1 && !sampled(seed) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(40000)
		if seed == 0 {
			n = 200_000 // more senders than a range of 2^16
		}
		var tuples [][2]uint64
		for range rng.IntN(4 * n) {
			tuples = append(tuples,
				[2]uint64{uint64(rng.IntN(n)), uint64(rng.IntN(1 + rng.IntN(n)))})
		}
		if seed == 1 { // more parallel edges than a part may have
			for range 140_000 {
				tuples = append(tuples, [2]uint64{0, uint64(rng.IntN(2))})
			}
		}
		in := &edges.Input{Edges: edges.Pack(uint64(n), tuples,
			nil), Vertices: n, Directed: seed%2 == 0}
		g, err := build.Local(context.Background(), in, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := g.Parts[0].Layout(pregel.Out).Blocks[0].Pull.ByReceiver
		size := graph.TileSize{Senders: 1 << (8 +
			rng.IntN(9)), Receivers: 64 << rng.IntN(8), Arcs: uint32(rng.IntN(1000))}
		t.Run(fmt.Sprintf("seed %d, %d vertices, tiles %v", seed, n, size), func(t *testing.T) {
			team := parallel.NewTeam(1+int(seed%3), false)
			defer team.Close()
			arena, asked := &mem.Arena{}, int64(0)
			defer arena.Close()
			if tiles, err := a.Tiles(t.Context(), size, team, arena, func(int64) bool { return false }); tiles != nil || err != nil {
				t.Fatal("tiles are made that were not to be", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if tiles, err := a.Tiles(ctx, size, team, arena, func(int64) bool { cancel(); return true }); tiles != nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("tiles are made, or the error %v, after the context ended", err)
			}
			tiles, err := a.Tiles(t.Context(), size, team, arena,
				func(bytes int64) bool { asked = bytes; return true })
			if err != nil {
				t.Fatal(err)
			}
			checkTiles(t, a, size, tiles, asked)
			if tiles, err := path(t).Tiles(t.Context(), graph.TileSize{Senders: 64, Receivers: 64, Spread: 4}, team, arena, func(int64) bool { return true }); tiles != nil || err != nil {
				t.Fatal("tiles are made of a path", err)
			}
			size.Least = len(a.Adj) + 1
			if tiles, err := a.Tiles(t.Context(), size, team, arena, func(int64) bool { return true }); tiles != nil || err != nil {
				t.Fatal("tiles are made that have too few arcs", err)
			}
		})
		g.Close()
	}
}

// path returns the lists of a path, in which neighbours are close to each other.
func path(t *testing.T) *graph.Adjacency {
	t.Helper()
	const n = 5000
	var tuples [][2]uint64
	for v := range uint64(n - 1) {
		tuples = append(tuples, [2]uint64{v, v + 1})
	}
	g, err := build.Local(context.Background(),
		&edges.Input{Edges: edges.Pack(n, tuples, nil), Vertices: n}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g.Parts[0].Layout(pregel.Out).Blocks[0].Pull.ByReceiver
}

// checkTiles checks the parts of all lists, and that they take this number of bytes.
func checkTiles(
	t *testing.T, a *graph.Adjacency, size graph.TileSize, tiles *graph.Tiles, bytes int64,
) {
	t.Helper()
	together := make([][]uint32, len(a.Bits)*64)
	for k := range tiles.Ranges() {
		for window := range len(tiles.Windows) - 1 {
			tile, from := tiles.Tile(k, window), int(tiles.Windows[window])<<6
			bytes -= 2 * int64(len(tile.Rows)+len(tile.Arcs))
			rows, arcs := tile.Rows, tile.Arcs
			last := 1 << 17
			for len(rows) > 0 {
				length, receivers := int(rows[0])+1, rows[2:][:rows[1]]
				rows = rows[2+len(receivers):]
				if length >= 64 && len(receivers) != 1 || length < 64 && length >= last ||
					!slices.IsSorted(receivers) {
					t.Fatalf("a group of %d receivers with parts of %d arcs after one of %d",
						len(receivers), length, last)
				}
				if length < 64 {
					last = length
				}
				for _, i := range receivers {
					if uint32(i) >= size.Receivers ||
						from+int(i) >= int(tiles.Windows[window+1])<<6 {
						t.Fatalf("receiver %d of window %d", i, window)
					}
					for _, s := range arcs[:length] {
						if uint32(s) >= size.Senders {
							t.Fatalf("sender %d of range %d", s, k)
						}
						together[from+int(i)] = append(together[from+int(i)], tile.First+uint32(s))
					}
					arcs = arcs[length:]
				}
			}
			if len(arcs) > 0 {
				t.Fatalf("%d arcs without a receiver", len(arcs))
			}
		}
	}
	for v, list := range together {
		lo, hi := a.Row(uint32(v))
		want := a.Adj[lo:hi]
		if !slices.Equal(list, want) {
			t.Fatalf("the parts of vertex %d are %v of %v", v, list, want)
		}
	}
	if bytes != 0 {
		t.Errorf("%d bytes more were announced than tiles take", bytes)
	}
}
