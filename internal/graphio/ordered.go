package graphio

import (
	"cmp"
	"context"
	"io"

	"github.com/superstep-go/superstep/internal/parallel"
)

// piecesAhead is the number of pieces of an output that each worker formats ahead of writing.
const piecesAhead = 8

// ordered formats n items of an output in parallel, and writes them to w in order. A worker formats
// a piece of up to atOnce items at a time: format appends an item to dst. wrote, if not nil, is
// called with the number of items that were written. The first error, in the order of pieces, ends
// ordered. If ctx ended, it returns the cause.
func ordered(
	ctx context.Context, team *parallel.Team, w io.Writer, n, atOnce int,
	format func(worker int, dst []byte, i int) ([]byte, error), wrote func(items int),
) error {
	pieces := (n + atOnce - 1) / atOnce
	data := make([][]byte, min(pieces, piecesAhead*team.Size()))
	errs := make([]error, len(data))
	for first := 0; first < pieces; first += len(data) {
		some := min(len(data), pieces-first)
		team.For(some, 1, func(worker, piece, _ int) {
			from := (first + piece) * atOnce
			text, err := data[piece][:0], context.Cause(ctx)
			for i := from; i < min(from+atOnce, n) && err == nil; i++ {
				text, err = format(worker, text, i)
			}
			data[piece], errs[piece] = text, err
		})
		for piece := range some {
			if err := cmp.Or(context.Cause(ctx), errs[piece]); err != nil {
				return err
			}
			if _, err := w.Write(data[piece]); err != nil {
				return err
			}
			if wrote != nil {
				wrote(min((first+piece+1)*atOnce, n))
			}
		}
	}
	return nil
}
