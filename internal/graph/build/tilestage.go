package build

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// tileStage is a worker's edges on their way to the tiles of all ranks.
type tileStage struct {
	*blockStage
	t    *tiling
	each int // tiles of a window of rows

	// Of a block's tuples, step by step.
	tiles [edges.BlockSize]uint32
	found [edges.BlockSize]uint64 // keys
}

func newTileStage(t *tiling, kind edges.Weights, arena *mem.Arena) *tileStage {
	return &tileStage{blockStage: newBlockStage(t.tiles(), t.high, kind,
		arena), t: t, each: t.others() * t.ways}
}

// flushTile sends what a tile has to the rank of its rows.
func (s *tileStage) flushTile(tile uint32, out []sendBuffer) {
	rank := s.t.rankOfRow[int(tile)/s.each]
	s.flush(tile, uint32(s.t.firstRow[rank]*s.each), &out[rank], 0)
}

// flushTiles sends what all tiles have. A worker that had nothing to do has no stage.
func (s *tileStage) flushTiles(out []sendBuffer) {
	if s == nil {
		return
	}
	for rank := range out {
		s.flushAll(s.t.firstRow[rank]*s.each, s.t.firstRow[rank+1]*s.each, &out[rank], 0)
	}
}
