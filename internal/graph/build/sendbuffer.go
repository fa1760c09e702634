package build

import (
	"encoding/binary"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/wire"
)

// kinds is how many kinds of records a sendBuffer may have: the two ways that edges may be
// reversed, or in- and out-arcs.
const kinds = 2

// sendBuffer is what one rank has for another in a round: records of a fixed number of words, each
// with a weight, or some, if the graph has weights. As a message, all little-endian:
//
//	| more (8) | records of kind 0 (8) | of kind 1 (8) | words ... | words ... | weights ... | weights ... |
//
// more says that the sender will have something in the next round.
type sendBuffer struct {
	words   [kinds][]uint64
	weights [kinds]graph.WeightColumn
}

// header is the size of what stands before the words, in words.
const header = 1 + kinds

func (p *sendBuffer) reset() {
	for k := range p.words {
		p.words[k] = p.words[k][:0]
		p.weights[k].Reset()
	}
}

// encode appends the message of send buffers that follow one another.
func encode(dst []byte, buffers []*sendBuffer, stride int, more bool) []byte {
	flag := uint64(0)
	if more {
		flag = 1
	}
	dst = binary.LittleEndian.AppendUint64(dst, flag)
	for k := range kinds {
		n := 0
		for _, p := range buffers {
			n += len(p.words[k])
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n/stride))
	}
	for k := range kinds {
		for _, p := range buffers {
			dst = append(dst, wire.Bytes(p.words[k])...)
		}
	}
	for k := range kinds {
		for _, p := range buffers {
			dst = p.weights[k].Encode(dst)
		}
	}
	return dst
}

// decode views a message as a sendBuffer, whose memory it shares. Records have so many bytes of
// weights.
func decode(data []byte, stride, weigh int, kind edges.Weights) (p sendBuffer, more bool, err error) {
	if len(data) < 8*header {
		return p, false, fmt.Errorf("%w: %d bytes are too few for a sendBuffer",
			collective.ErrMessage, len(data))
	}
	record := uint64(8*stride + weigh)
	flag, left := binary.LittleEndian.Uint64(data), uint64(len(data)-8*header)
	var records [kinds]int
	for k := range kinds {
		n := binary.LittleEndian.Uint64(data[8+8*k:])
		if n > left/record {
			return p, false, fmt.Errorf("%w: %d records of %d bytes in the %d that are left",
				collective.ErrMessage, n, record, left)
		}
		left -= n * record
		records[k] = int(n)
	}
	if flag > 1 || left > 0 {
		return p, false, fmt.Errorf("%w: flag %d, and %d bytes after the last record",
			collective.ErrMessage, flag, left)
	}
	data = data[8*header:]
	take := func(bytes int) []byte {
		part := data[:bytes:bytes]
		data = data[bytes:]
		return part
	}
	for k, n := range records {
		p.words[k] = wire.Slice[uint64](take(8 * stride * n))
	}
	for k, n := range records {
		p.weights[k] = graph.DecodeWeights(kind, take(weigh*n))
	}
	return p, flag == 1, nil
}
