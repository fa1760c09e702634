package build

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/mem"
)

// Data between ranks are on Go's heap only in pieces, in rounds of bounded size. Both are smaller
// if the memory budget is small. The whole data are in arenas, which the budget counts and spills.

// Limits of a piece and of a round, in bytes.
const (
	leastPiece = 64 << 10
	mostPiece  = 4 << 20
)

// pieceBytes returns the largest piece that this rank accepts, in bytes.
func pieceBytes() int {
	if limit := mem.Process().Limit(); limit > 0 {
		return int(min(max(limit/128, leastPiece), mostPiece))
	}
	return mostPiece
}

// mostSent limits the bytes that a rank may send to another: some words for each vertex.
const mostSent = 1 << 38

// sent is what ranks exchange before the pieces: the number of bytes that a rank sends, and the
// largest piece that it accepts.
type sent struct{ Bytes, Piece int }

// sendReceive sends data to the rank step ranks after this one, and returns the data from the rank
// step ranks before this one, in an arena. All ranks call it together. The rank with the least
// memory determines the size of pieces.
func (b *builder) sendReceive(
	ctx context.Context, step int, data []byte, into *mem.Arena,
) ([]byte, error) {
	to, from := (b.rank+step)%b.ranks, (b.rank-step+b.ranks)%b.ranks
	all, err := collective.Gather(ctx, b.group, b.call(), &sent{len(data), b.piece})
	if err != nil {
		return nil, err
	}
	most, piece := 0, mostPiece
	for _, s := range all {
		most, piece = max(most, s.Bytes), min(piece, s.Piece)
		if s.Bytes < 0 {
			piece = 0
		}
	}
	if most > mostSent || piece < leastPiece {
		return nil, fmt.Errorf("%w: %d bytes in pieces of %d", collective.ErrMessage, most, piece)
	}
	came := mem.Make[byte](into, all[from].Bytes)
	out := make([][]byte, b.ranks)
	for rest := came; most > 0; most -= min(piece, most) {
		clear(out)
		n := min(piece, len(data))
		out[to], data = data[:n], data[n:]
		in, err := b.group.Alltoall(ctx, b.call(), out)
		if err != nil {
			return nil, err
		}
		got := in[from]
		if len(got) != min(piece, len(rest)) {
			return nil, invalid(from, "a piece of %d bytes", len(got))
		}
		rest = rest[copy(rest, got):]
		collective.Release(b.group.Link(), got)
	}
	return came, nil
}

// edgeBytes is the approximate size of an edge in a round, with its weight.
const edgeBytes = 16

// roundRecords returns the approximate number of records that a rank sends in a round. all is the
// number of records of all ranks, bytes the size of one. The number is limited to a fraction of all
// records, so that data in flight are small in comparison with the tuples. With a memory budget it
// is at most a piece.
func (b *builder) roundRecords(all, bytes int) int {
	n := min(max(all/b.ranks/16, 1<<13), 1<<18)
	if mem.Process() != nil {
		n = min(n, b.piece/bytes)
	}
	return n
}
