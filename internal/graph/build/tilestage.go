package build

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// tileStage is a worker's edges on their way to tiles of all ranks: up to a block of each. What is sent are blocks:
//
//	| edges (5 bits) | number of the tile among those of its rank's rows | keys: low bits of each ... | other bits ... |
type tileStage struct {
	*tiling
	count   []uint8 // by tile
	keys    []uint64
	more    []uint64 // the other bits
	low     []uint32 // keys
	high    []uint8  // more
	weights []float64
	kind    edges.Weights
	each    int // tiles of a window of rows

	// Of a block's tuples, step by step.
	tiles [edges.BlockSize]uint32
	found [edges.BlockSize]uint64 // keys
}

func newTileStage(t *tiling, kind edges.Weights, arena *mem.Arena) *tileStage {
	n := t.tiles()
	s := &tileStage{tiling: t, count: mem.Make[uint8](arena, n), keys: mem.Make[uint64](arena, n*blockEdges/2), kind: kind, each: t.others() * t.ways}
	s.low = wire.Slice[uint32](wire.Bytes(s.keys))
	if t.high > 0 {
		s.more = mem.Make[uint64](arena, n*blockEdges*t.high/8)
		s.high = wire.Bytes(s.more)
	}
	if kind != edges.Unweighted {
		s.weights = mem.Make[float64](arena, n*blockEdges)
	}
	return s
}

// put adds an edge to a tile that has fewer than a block, and returns its place in the block.
func (s *tileStage) put(tile int, key uint64) int {
	n := int(s.count[tile])
	at := tile*blockEdges + n
	s.low[at] = uint32(key)
	for k := range s.tiling.high { // often none
		s.high[at*s.tiling.high+k] = uint8(key >> (leastKey + 8*k))
	}
	s.count[tile] = uint8(n + 1)
	return n
}

// flush sends what a tile of a rank's rows has.
func (s *tileStage) flush(tile, rank int, to *sendBuffer) {
	n := s.count[tile]
	s.count[tile] = 0
	number := uint64(tile - s.firstRow[rank]*s.each)
	words := append(to.words[0], number*(2*blockEdges)|uint64(n))
	words = append(words, s.keys[tile*(blockEdges/2):][:blockEdges/2]...)
	if s.more != nil {
		size := blockEdges * s.tiling.high / 8
		words = append(words, s.more[tile*size:][:size]...)
	}
	to.words[0] = words
	if s.weights != nil {
		for _, w := range s.weights[tile*blockEdges:][:blockEdges] {
			to.weights[0].weigh(s.kind, w)
		}
	}
}

// flushAll sends what all tiles have. A worker that had nothing to do has no stage.
func (s *tileStage) flushAll(out []sendBuffer) {
	if s == nil {
		return
	}
	for rank := range out {
		for tile := s.firstRow[rank] * s.each; tile < s.firstRow[rank+1]*s.each; tile++ {
			if s.count[tile] > 0 {
				s.flush(tile, rank, &out[rank])
			}
		}
	}
}
