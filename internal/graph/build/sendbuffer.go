package build

import (
	"encoding/binary"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/wire"
)

// kinds is the number of kinds of records in a sendBuffer: edges from the row and to the row, or
// in-arcs and out-arcs.
const kinds = 2

// sendBuffer has the records that one rank sends to another in a round. A record has a fixed number
// of words and, if the graph has weights, a fixed number of weights. As a message, little-endian:
//
//	| more (8) | records of kind 0 (8) | of kind 1 (8) | words ... | ... | weights ... | ... |
//
// more tells whether the sender has records for the next round.
type sendBuffer struct {
	words   [kinds][]uint64
	weights [kinds]graph.WeightColumn
}

// header is the number of words before the records.
const header = 1 + kinds

// encode appends the message with the records of several send buffers.
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

// decode converts a message to a sendBuffer that shares its memory. A record has weigh bytes of
// weights.
func decode(
	data []byte, stride, weigh int, kind edges.Weights,
) (p sendBuffer, more bool, err error) {
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
