package build

import (
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// blockEdges is the number of edges or arcs in a block: a cache line of keys.
const blockEdges = graph.BlockArcs

// blockStage buffers a worker's keys for the boxes of all ranks, up to one block per box. A box is
// a tile of a store or a bucket of lists. A block is sent in this layout, with the weights of its
// keys separate:
//
//	| box, among those of its rank << 5 | keys (8) | 32 bits of each key ... | other bits ... |
type blockStage struct {
	boxes
	high    int     // bytes of a key in addition to its low 32 bits
	count   []uint8 // by box
	keys    []uint64
	more    []uint64
	low     []uint32 // a view of keys
	other   []uint8  // a view of more
	weights []float64
	kind    edges.Weights
}

// boxes has the rank of each box, and the first box of each rank.
type boxes struct {
	rank  []int32
	first []int
}

func newBlockStage(all boxes, high int, kind edges.Weights, arena *mem.Arena) *blockStage {
	n := len(all.rank)
	s := &blockStage{
		boxes: all, high: high, kind: kind,
		count: mem.Make[uint8](arena, n), keys: mem.Make[uint64](arena, n*blockEdges/2),
	}
	s.low = wire.Slice[uint32](wire.Bytes(s.keys))
	if high > 0 {
		s.more = mem.Make[uint64](arena, n*blockEdges*high/8)
		s.other = wire.Bytes(s.more)
	}
	if kind != edges.Unweighted {
		s.weights = mem.Make[float64](arena, n*blockEdges)
	}
	return s
}

// blockWords returns the number of words of a block in a message. high is the number of bytes of a
// key in addition to its low 32 bits.
func blockWords(high int) int { return 1 + blockEdges*(4+high)/8 }

// full reports whether a box has a full block, which must be sent before the next put. It is
// checked as late as possible: wide reads of bytes that have just been written separately are slow,
// because they cannot use store forwarding.
func (s *blockStage) full(box uint32) bool { return s.count[box] == blockEdges }

// put adds a key to a box, which must not be full, and returns the key's index in the stage.
func (s *blockStage) put(box uint32, key uint64) (at int) {
	n := s.count[box]
	at = int(box)*blockEdges + int(n)
	s.low[at] = uint32(key)
	for k := range s.high { // often 0
		s.other[at*s.high+k] = uint8(key >> (32 + 8*k))
	}
	s.count[box] = n + 1
	return at
}

// flush sends the block of a box to its rank.
func (s *blockStage) flush(box uint32, out []sendBuffer, kind int) {
	n, rank := s.count[box], s.rank[box]
	s.count[box] = 0
	to := &out[rank]
	words := append(to.words[kind], (uint64(box)-uint64(s.first[rank]))*(2*blockEdges)|uint64(n))
	words = append(words, s.keys[int(box)*(blockEdges/2):][:blockEdges/2]...)
	if s.more != nil {
		size := blockEdges * s.high / 8
		words = append(words, s.more[int(box)*size:][:size]...)
	}
	to.words[kind] = words
	if s.weights != nil {
		for _, w := range s.weights[int(box)*blockEdges:][:blockEdges] {
			to.weights[kind].Append(s.kind, w)
		}
	}
}

// flushAll sends the blocks of all boxes.
func (s *blockStage) flushAll(out []sendBuffer, kind int) {
	for box, n := range s.count {
		if n > 0 {
			s.flush(uint32(box), out, kind)
		}
	}
}

// head returns the box and the number of keys of record i in a send buffer. ok is false if it is
// not a valid block.
func (p *sendBuffer) head(kind, i, stride int) (box uint64, n int, ok bool) {
	word := p.words[kind][i*stride]
	n = int(word & (2*blockEdges - 1))
	return word / (2 * blockEdges), n, n-1 < blockEdges && n > 0
}

// low returns the low 32 bits of the n keys of block i.
func (p *sendBuffer) low(kind, i, stride, n int) []uint32 {
	return wire.Slice[uint32](wire.Bytes(p.words[kind][i*stride+1 : i*stride+1+blockEdges/2]))[:n]
}

// other returns the other bits of the n keys of block i, or nil.
func (p *sendBuffer) other(kind, i, stride, n int) []uint8 {
	high := (stride-1)*8/blockEdges - 4
	if high == 0 {
		return nil
	}
	return wire.Bytes(p.words[kind][i*stride+1+blockEdges/2 : (i+1)*stride])[:n*high]
}
