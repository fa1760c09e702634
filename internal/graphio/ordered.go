package graphio

import (
	"context"
	"errors"
	"sync"

	"github.com/superstep-go/superstep/internal/parallel"
)

// ordered formats the pieces 0 to n-1 of an output on the team and writes them in order: while one
// worker writes, the others format the pieces that come next. format appends a piece to dst. The
// first error in the order of pieces ends it.
func ordered(ctx context.Context, team *parallel.Team, n int,
	format func(worker int, dst []byte, piece int) ([]byte, error), write func(piece int, data []byte) error,
) error {
	q := &turns{n: n}
	q.changed.L = &q.mu
	team.Run(func(worker int) {
		finished := false
		defer func() {
			if !finished { // a panic, on its way to the caller: nobody is to wait for this piece
				q.fail(errAbandoned)
			}
		}()
		var data []byte
		for {
			piece, ok := q.take()
			if !ok {
				break
			}
			err := ctx.Err()
			if err == nil {
				data, err = format(worker, data[:0], piece)
			}
			if !q.await(piece) {
				break
			}
			if err == nil {
				err = write(piece, data)
			}
			if err != nil {
				q.fail(err)
				break
			}
			q.pass()
		}
		finished = true
	})
	return q.err
}

var errAbandoned = errors.New("graphio: a worker panicked")

// turns hands out pieces and says whose turn it is to write.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	n       int
	taken   int // pieces handed out
	turn    int // the piece that may be written
	err     error
}

// take returns the next piece to format.
func (q *turns) take() (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil || q.taken == q.n {
		return 0, false
	}
	q.taken++
	return q.taken - 1, true
}

// await waits until piece may be written. It reports false when an earlier one failed.
func (q *turns) await(piece int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.turn != piece && q.err == nil {
		q.changed.Wait()
	}
	return q.err == nil
}

// pass lets the next piece be written.
func (q *turns) pass() {
	q.mu.Lock()
	q.turn++
	q.mu.Unlock()
	q.changed.Broadcast()
}

// fail ends it with err.
func (q *turns) fail(err error) {
	q.mu.Lock()
	if q.err == nil {
		q.err = err
	}
	q.mu.Unlock()
	q.changed.Broadcast()
}
