package build

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
)

// ask sends each question to the rank that of returns, and returns the answers in the order of the
// questions. If of returns -1, the answer is all ones. All ranks call it together, each with any
// number of questions.
func ask[Q, A ~uint64](
	ctx context.Context, group *collective.Group, call collective.Call,
	questions []Q, of func(Q) int, answer func(Q) A,
) ([]A, error) {
	ranks := group.Link().Size()
	out := make([][]byte, ranks)
	for _, q := range questions {
		if to := of(q); to >= 0 {
			out[to] = appendWord(out[to], uint64(q))
		}
	}
	in, err := group.Alltoall(ctx, call, out)
	if err != nil {
		return nil, err
	}
	back := make([][]byte, ranks)
	for rank, data := range in {
		asked, err := words(data, len(data)/8)
		if err != nil {
			return nil, fmt.Errorf("from rank %d: %w", rank, err)
		}
		for _, q := range asked {
			if of(Q(q)) != group.Link().Rank() {
				return nil, invalid(rank, "asked for %d", q)
			}
			back[rank] = appendWord(back[rank], uint64(answer(Q(q))))
		}
	}
	if in, err = group.Alltoall(ctx, call, back); err != nil {
		return nil, err
	}
	given := make([][]uint64, ranks)
	for rank, data := range in {
		if given[rank], err = words(data, len(out[rank])/8); err != nil {
			return nil, fmt.Errorf("from rank %d: %w", rank, err)
		}
	}
	answers := make([]A, len(questions))
	for i, q := range questions {
		to := of(q)
		if to < 0 {
			answers[i] = ^A(0)
			continue
		}
		answers[i] = A(given[to][0])
		given[to] = given[to][1:]
	}
	return answers, nil
}

// invalid returns the error for an invalid message from a rank.
func invalid(rank int, format string, args ...any) error {
	return fmt.Errorf("from rank %d: %w: %s", rank, collective.ErrMessage,
		fmt.Sprintf(format, args...))
}
