package build

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/mem"
)

// What ranks send each other lies on Go's heap only in pieces, and in rounds, of bounded size,
// smaller where a budget of memory is small: what there is of it as a whole lies in arenas, which
// are counted and spilled.

// Bounds of a piece, and of a round, in bytes.
const (
	leastPiece = 64 << 10
	mostPiece  = 4 << 20
)

// pieceBytes returns how many bytes this rank wants in a piece at most.
func pieceBytes() int {
	if limit := mem.Process().Limit(); limit > 0 {
		return int(min(max(limit/128, leastPiece), mostPiece))
	}
	return mostPiece
}

// mostSent bounds what a rank may say that it sends another: some words for each vertex.
const mostSent = 1 << 38

// pieceHeader is the size of what ranks tell each other before the pieces:
//
//	| bytes that the sender sends in all (8) | bytes that it wants in a piece at most (8) |
const pieceHeader = 16

// sendReceive sends data to the rank so many ranks on, and returns what comes from as many ranks
// back, in an arena. All ranks call it together; pieces are as small as the rank wants them that
// has the least memory.
func (b *builder) sendReceive(ctx context.Context, step int, data []byte, into *mem.Arena) ([]byte, error) {
	to, from := (b.rank+step)%b.ranks, (b.rank-step+b.ranks)%b.ranks
	out := make([][]byte, b.ranks)
	for rank := range out {
		out[rank] = appendWord(appendWord(make([]byte, 0, pieceHeader), uint64(len(data))),
			uint64(b.piece))
	}
	in, err := b.group.Alltoall(ctx, b.call(), out)
	if err != nil {
		return nil, err
	}
	sizes, piece := make([]uint64, b.ranks), uint64(mostPiece)
	most := uint64(0)
	for rank, d := range in {
		if len(d) != pieceHeader {
			return nil, fmt.Errorf("from rank %d: %w: %d bytes before the first piece", rank,
				collective.ErrMessage, len(d))
		}
		sizes[rank] = binary.LittleEndian.Uint64(d)
		most, piece = max(most, sizes[rank]), min(piece, binary.LittleEndian.Uint64(d[8:]))
	}
	if most > mostSent || piece < leastPiece {
		return nil, fmt.Errorf("%w: %d bytes in pieces of %d", collective.ErrMessage, most, piece)
	}
	came := mem.Make[byte](into, int(sizes[from]))
	for rest := came; most > 0; most -= min(piece, most) {
		clear(out)
		n := min(int(piece), len(data))
		out[to], data = data[:n], data[n:]
		if in, err = b.group.Alltoall(ctx, b.call(), out); err != nil {
			return nil, err
		}
		got := in[from]
		if len(got) != min(int(piece), len(rest)) {
			return nil, fmt.Errorf("from rank %d: %w: a piece of %d bytes", from,
				collective.ErrMessage, len(got))
		}
		rest = rest[copy(rest, got):]
		collective.Release(b.group.Link(), got)
	}
	return came, nil
}

// edgeBytes is about what an edge takes in a round, with its weight.
const edgeBytes = 16

// roundRecords is about how many records of so many bytes a rank sends in a round: more only where
// there are enough of them to fill many rounds, so that what is on its way stays small beside the
// tuples, and no more than a piece where memory is bounded.
func (b *builder) roundRecords(all, bytes int) int {
	n := min(max(all/b.ranks/16, 1<<13), 1<<18)
	if mem.Process() != nil {
		n = min(n, b.piece/bytes)
	}
	return n
}
