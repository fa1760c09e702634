package graphio

import (
	"cmp"
	"context"

	"github.com/superstep-go/superstep/internal/parallel"
)

// piecesAhead is the number of pieces of an output that each worker formats ahead of writing.
const piecesAhead = 8

// ordered formats the pieces 0 to n-1 of an output in parallel, and writes them in order. format
// appends a piece to dst. The first error, in the order of pieces, ends it.
func ordered(
	ctx context.Context, team *parallel.Team, n int,
	format func(worker int, dst []byte, piece int) ([]byte, error),
	write func(piece int, data []byte) error,
) error {
	data := make([][]byte, min(n, piecesAhead*team.Size()))
	errs := make([]error, len(data))
	for first := 0; first < n; first += len(data) {
		some := min(len(data), n-first)
		team.For(some, 1, func(worker, i, _ int) {
			if errs[i] = ctx.Err(); errs[i] == nil {
				data[i], errs[i] = format(worker, data[i][:0], first+i)
			}
		})
		for i := range some {
			if err := cmp.Or(errs[i], ctx.Err()); err != nil {
				return err
			}
			if err := write(first+i, data[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
