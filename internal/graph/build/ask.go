package build

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/wire"
)

// The number of questions that a rank sends to each other rank in a round, and the approximate
// number of bytes that it receives in the round.
const (
	askedAtOnce   = 1 << 14
	answeredBytes = 4 << 20
)

// ask sends each question to the rank that of returns, and calls use with the number of the
// question and its answer, in any order. If of returns -1, there is no answer. All ranks call it
// together, each with any number of questions. It works in rounds until all ranks have their
// answers. use must not retain data.
//
//	questions: | more rounds are needed (8) | question (8) | ...    answers: | bytes | answer | ...
func ask(
	ctx context.Context, group *collective.Group, call collective.Call, questions []uint64,
	of func(q uint64) int, answer func(dst []byte, q uint64) []byte,
	use func(i int, data []byte) error,
) error {
	link := group.Link()
	pending, left := make([][]int, link.Size()), 0
	for i, q := range questions {
		if to := of(q); to >= 0 {
			pending[to] = append(pending[to], i)
			left++
		}
	}
	for {
		out := make([][]byte, link.Size())
		for rank, all := range pending {
			out[rank] = appendWord(out[rank], uint64(min(left, 1)))
			for _, i := range all[:min(len(all), askedAtOnce)] {
				out[rank] = appendWord(out[rank], questions[i])
			}
		}
		in, err := group.Alltoall(ctx, call, out)
		if err != nil {
			return err
		}
		mine := func(q uint64) bool { return of(q) == link.Rank() }
		back, more, err := answers(in, mine, answer)
		if err != nil || !more {
			return err
		}
		if in, err = group.Alltoall(ctx, call, back); err != nil {
			return err
		}
		for rank, data := range in {
			n, err := eachAnswer(data, pending[rank], use)
			if err != nil {
				return fmt.Errorf("from rank %d: %w", rank, err)
			}
			pending[rank] = pending[rank][n:]
			left -= n
		}
	}
}

// answers makes the answers to the ranks' questions: at least one each, and then as many as fit.
// more tells whether any rank still needs answers.
func answers(
	in [][]byte, mine func(q uint64) bool, answer func(dst []byte, q uint64) []byte,
) (back [][]byte, more bool, err error) {
	back = make([][]byte, len(in))
	for rank, data := range in {
		asked := wire.Slice[uint64](data)
		if len(data)%8 != 0 || len(asked) == 0 || asked[0] > 1 || len(asked) > askedAtOnce+1 {
			return nil, false, invalid(rank, "questions of %d bytes", len(data))
		}
		more = more || asked[0] == 1
		var one []byte
		for _, q := range asked[1:] {
			if !mine(q) {
				return nil, false, invalid(rank, "asked for %d", q)
			}
			one = answer(one[:0], q)
			back[rank] = append(binary.AppendUvarint(back[rank], uint64(len(one))), one...)
			if len(back[rank]) >= answeredBytes/len(in) {
				break
			}
		}
	}
	return back, more, nil
}

// eachAnswer calls use with the answers of another rank to the first n questions in asked.
func eachAnswer(data []byte, asked []int, use func(i int, data []byte) error) (n int, err error) {
	for ; len(data) > 0; n++ {
		size, i := binary.Uvarint(data)
		if i <= 0 || size > uint64(len(data)-i) || n == len(asked) {
			return n, fmt.Errorf("%w: no answer", collective.ErrMessage)
		}
		if err := use(asked[n], data[i:i+int(size)]); err != nil {
			return n, err
		}
		data = data[i+int(size):]
	}
	if n == 0 && len(asked) > 0 {
		return n, fmt.Errorf("%w: none of %d answers", collective.ErrMessage, len(asked))
	}
	return n, nil
}

// askNumbers is ask for answers that are numbers. It returns them in the order of the questions,
// and all ones for a question that no rank answers.
func askNumbers[Q, A ~uint64](
	ctx context.Context, group *collective.Group, call collective.Call,
	questions []Q, of func(Q) int, answer func(Q) A,
) ([]A, error) {
	asked, answers := make([]uint64, len(questions)), make([]A, len(questions))
	for i, q := range questions {
		asked[i], answers[i] = uint64(q), ^A(0)
	}
	err := ask(ctx, group, call, asked, func(q uint64) int { return of(Q(q)) },
		func(dst []byte, q uint64) []byte { return appendWord(dst, uint64(answer(Q(q)))) },
		func(i int, data []byte) error {
			if len(data) != 8 {
				return fmt.Errorf("%w: %d bytes for a number", collective.ErrMessage, len(data))
			}
			answers[i] = A(binary.LittleEndian.Uint64(data))
			return nil
		})
	return answers, err
}

// invalid returns the error for an invalid message from a rank.
func invalid(rank int, format string, args ...any) error {
	return fmt.Errorf("from rank %d: %w: %s", rank, collective.ErrMessage,
		fmt.Sprintf(format, args...))
}
