package build

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// tileStage buffers a worker's edges for the tiles of all ranks.
type tileStage struct {
	*blockStage
	t    *tiling
	each int // tiles in a window of rows

	// Tiles and keys of a block's tuples.
	tiles [edges.BlockSize]uint32
	found [edges.BlockSize]uint64 // keys
}

func newTileStage(t *tiling, kind edges.Weights, arena *mem.Arena) *tileStage {
	return &tileStage{blockStage: newBlockStage(t.tiles(), t.high, kind,
		arena), t: t, each: t.others() * t.ways}
}

// flushTile sends the block of a tile to the rank of its rows.
func (s *tileStage) flushTile(tile uint32, out []sendBuffer) {
	rank := s.t.rankOfRow[int(tile)/s.each]
	s.flush(tile, uint32(s.t.firstRow[rank]*s.each), &out[rank], 0)
}

// flushTiles sends the blocks of all tiles. A worker that has read no tuples has no stage.
func (s *tileStage) flushTiles(out []sendBuffer) {
	if s == nil {
		return
	}
	for rank := range out {
		s.flushAll(s.t.firstRow[rank]*s.each, s.t.firstRow[rank+1]*s.each, &out[rank], 0)
	}
}
