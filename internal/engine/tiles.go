package engine

import (
	"cmp"
	"context"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
)

// A pull of sums from all vertices waits for cache misses, because each edge reads the message of a
// sender anywhere in the column. It also waits for mispredicted branches at the ends of lists. So
// such a pull uses tiles (graph.Tiles). For one range of senders after the other, it adds their
// messages to a sum for each receiver. The vertices compute after the last range. Ordered sums are
// the same as without tiles, because the ranges are in the order of the lists.

const (
	// tiledArcs is the number of arcs above which tiles are worth their memory.
	tiledArcs = 1 << 20
	// tiledPulls is the number of full pulls for which tiles are worth making. Making them takes as
	// long as they save in 3 to 8 pulls.
	tiledPulls = 10
)

// tileSize is the size of tiles: 0.5 MB of float64 messages, and 64 KB of sums. BenchmarkTiles
// compares it with other sizes.
var tileSize = graph.TileSize{
	Senders: 1 << 16, Receivers: 1 << 13, Arcs: 1 << 18, Least: 64, Spread: 4,
}

// tiling is the state of pulls by tiles.
type tiling struct {
	*partition
	add   func(worker int) // the method value addTilesTask
	fulls int              // number of pulls in this run in which all vertices sent
	of    *graph.Adjacency // the lists that tiles were made of, or were not worth making for
	tiles *graph.Tiles     // or nil
	now   int              // the range of senders that is being added
	on    bool
	found []uint64 // the receivers of a message, in this superstep's pull
}

// pullTiles adds up the messages of a pull by tiles, if that is faster. It then sets s.on, and no
// list remains to be pulled.
func (s *tiling) pullTiles(ctx context.Context, pulling []*pull, many bool) error {
	s.on = false
	if len(pulling) != 1 || !pulling[0].All || s.list || s.command.Sends || s.changing.on {
		return nil
	}
	whole, a := pulling[0], s.layout.Blocks[0].Pull.ByReceiver
	if whole.Lists != &a.Lists || !a.Rising || !s.instance.Tiles() {
		return nil
	}
	if made, err := s.makeTiles(ctx, a); !made {
		return err
	}
	s.on, s.found = true, a.Bits
	phase := s.startTimer(&s.report.Times.Traverse)
	defer phase.end()
	for s.now = range s.tiles.Ranges() {
		if err := s.run(many, s.tiles.Windows, s.add); err != nil {
			return err
		}
	}
	return nil
}

// makeTiles makes tiles if enough full pulls can be expected, and reports whether there are tiles.
func (s *tiling) makeTiles(ctx context.Context, a *graph.Adjacency) (bool, error) {
	if s.of == a || s.job.options.WholeLists {
		return s.tiles != nil, nil
	}
	size := cmp.Or(s.job.options.Sizes.Tile, tileSize)
	if s.fulls++; size == tileSize && (len(a.Adj) < tiledArcs || !s.manyPulls()) {
		return false, nil
	}
	s.forgetTiles()
	s.of = a
	arena := s.job.newArena()
	defer func() {
		if s.tiles == nil { // not worth it, an error, or too little memory (maybe a panic)
			arena.Close()
		}
	}()
	tiles, err := a.Tiles(ctx, size, s.team, arena, func(bytes int64) bool {
		return !s.job.budget().Tight(bytes)
	})
	if err != nil {
		s.forgetTiles() // another run may make them
		return false, err
	}
	if tiles == nil {
		return false, nil
	}
	s.tiles = tiles
	s.arena.Adopt(arena)
	s.probe(delivery.MadeTiles, 1)
	return true, nil
}

// forgetTiles drops the tiles, before their arena is closed.
func (s *tiling) forgetTiles() { s.of, s.tiles, s.on = nil, nil, false }

// manyPulls reports whether tiledPulls more full pulls can be expected: the program's remaining
// supersteps or, if their number is unknown, as many as so far.
func (s *tiling) manyPulls() bool {
	if most := s.job.methods.traits.MaxSupersteps; most > 0 {
		return most-s.command.Superstep >= tiledPulls
	}
	return s.fulls > tiledPulls
}

// addTilesTask adds the messages of a range of senders to the receivers' sums.
func (s *tiling) addTilesTask(worker int) {
	t := s.threads[worker]
	defer s.recover(t)
	windows := s.words
	for {
		i := s.chunks.Take(1)
		if i >= len(windows)-1 || s.stop.Load() {
			return
		}
		from := int(windows[i])
		if s.now == 0 {
			s.instance.ClearSums(from, int(windows[i+1]))
		}
		tile := s.tiles.Tile(s.now, i)
		t.AddTile(&tile, from)
		t.count.walked += len(tile.Arcs)
		s.probe(delivery.TiledArcs, len(tile.Arcs))
	}
}
