package build

import (
	"context"
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

// sent is what ranks tell each other before the pieces: the bytes that one sends in all, and that
// it wants in a piece at most.
type sent struct{ Bytes, Piece int }

// sendReceive sends data to the rank so many ranks on, and returns what comes from as many ranks
// back, in an arena. All ranks call it together; pieces are as small as the rank wants them that
// has the least memory.
func (b *builder) sendReceive(ctx context.Context, step int, data []byte, into *mem.Arena) ([]byte, error) {
	to, from := (b.rank+step)%b.ranks, (b.rank-step+b.ranks)%b.ranks
	all, err := gather(ctx, b.group, b.call(), &sent{len(data), b.piece})
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
			return nil, lied(from, "a piece of %d bytes", len(got))
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
