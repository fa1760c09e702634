package build

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// TestTiles sends edges through the blocks of each rank to its store, which then has the same
// edges. Keys have all sizes.
func TestTiles(t *testing.T) {
	usual := limits
	defer func() { limits = usual }()
	high := map[int]bool{}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		limits.tileEdges, limits.tiles = 1+rng.IntN(1000), 1<<rng.IntN(10)
		ranks, ways := 1+rng.IntN(3), 1+rng.IntN(2)
		places, starts, end := make([]int, ranks), make([]uint64, ranks), uint64(0)
		for i := range places {
			starts[i] = end
			places[i] = 1 + rng.IntN(1<<(1+rng.IntN(27)))
			end += uint64(places[i])
		}
		kind := edges.Weights(rng.IntN(3))
		n := 1 + rng.IntN(2000)
		tiles := newTiling(places, starts, n, ways)
		high[tiles.high] = true
		tmp := new(mem.Arena)
		stage := &routeWorker{blockStage: newBlockStage(tiles.boxes, tiles.high, kind, tmp)}
		out := make([]sendBuffer, ranks)
		b := &builder{
			places: newRanges(starts, end), ranks: ranks, sizes: places, all: totals{tuples: n},
		}
		b.in = &edges.RankInput{Input: edges.Input{Directed: ways == 2}}
		b.o.Weights = kind
		router := &router{b: b, tiles: tiles}
		b.dense, b.end = true, end
		var block edges.Block
		want := make([][]string, ranks)
		for left := n; left > 0; left -= block.N {
			block.N = min(left, edges.BlockSize)
			for i := range block.N {
				u, v := rng.Uint64N(end), rng.Uint64N(end)
				block.U[i], block.V[i], block.W[i] = u, v, float64(rng.IntN(9))
				way := fromRow
				if reversed(u, v) == 1 {
					u, v = v, u
					if ways == 2 {
						way = toRow
					}
				}
				w := block.W[i]
				if kind == edges.Unweighted {
					w = 1
				}
				rank := b.places.of(u)
				want[rank] = append(want[rank], fmt.Sprint(u, v, way, w))
			}
			if err := router.put(&block, stage, out); err != nil {
				t.Fatal(err)
			}
		}
		stage.flushAll(out, 0)
		for rank := range ranks {
			b.rank = rank
			b.store = b.newStore(tiles)
			stride := blockWords(tiles.high)
			for i := range len(out[rank].words[0]) / stride {
				if tile, n, ok := out[rank].head(0, i, stride); !ok ||
					!b.takeBlock(0, tile, &out[rank], i, n) {
					t.Fatalf("seed %d: block %d of tile %d", seed, i, tile)
				}
			}
			got := storedEdges(b.store, starts)
			slices.Sort(got)
			slices.Sort(want[rank])
			if !slices.Equal(got, want[rank]) {
				t.Fatalf("seed %d, %+v: rank %d has %v, want %v", seed, tiles, rank, got,
					want[rank])
			}
			b.store.close()
		}
		tmp.Close()
	}
	if len(high) != mostBytes+1 {
		t.Errorf("keys of only %v bytes more", high)
	}
}

func storedEdges(s *store, starts []uint64) []string {
	var all []string
	for _, d := range s.sides {
		for i := range d.tiles() {
			row, end, way := d.tile(i)
			joined, _ := d.join(i)
			for c := joined.first; c != nil; c = c.next {
				for k := range c.n {
					u, v := s.split(c.key(k, s.high))
					all = append(all, fmt.Sprint(starts[s.rank]+uint64(row+u),
						starts[d.at]+uint64(end+v), way, c.weight.At(k)))
				}
			}
		}
	}
	return all
}

// FuzzTakeBlock: an arbitrary block is rejected, or has only edges of existing places.
func FuzzTakeBlock(f *testing.F) {
	f.Add(uint64(1), uint64(1), uint64(0), uint16(100), uint16(50))
	f.Add(uint64(33), uint64(1<<63), uint64(1<<63), uint16(1), uint16(9))
	f.Fuzz(func(t *testing.T, head, keys, more uint64, mine, other uint16) {
		places, starts := []int{int(mine), int(other)}, []uint64{0, uint64(mine)}
		tiles := newTiling(places, starts, 1<<20, 1)
		b := &builder{ranks: 2, sizes: places, all: totals{tuples: 20}}
		b.store = b.newStore(tiles)
		defer b.store.close()
		p := sendBuffer{}
		p.words[0] = slices.Repeat([]uint64{keys, more}, 10)[:blockWords(tiles.high)]
		p.words[0][0] = head
		if tile, n, ok := p.head(0, 0, blockWords(tiles.high)); !ok ||
			!b.takeBlock(0, tile, &p, 0, n) {
			return
		}
		for _, d := range b.store.sides {
			for i := range d.tiles() {
				row, end, _ := d.tile(i)
				for c := d.chain(0, i).first; c != nil; c = c.next {
					for k := range c.n {
						if u, v := tiles.split(c.key(k, tiles.high)); int(row+u) >= places[0] ||
							int(end+v) >= places[d.at] {
							t.Errorf("edge %d-%d of places %v and %v", row+u, end+v, places[0],
								places[d.at])
						}
					}
				}
			}
		}
	})
}
