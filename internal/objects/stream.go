package objects

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
)

// ErrBroken means that a stream ended before its last message.
var ErrBroken = errors.New("the stream broke")

// Reader reads the data in the messages of a stream. Its error is ErrBroken if the stream ends
// early.
type Reader[T any] struct {
	stream *connect.ClientStream[T]
	of     func(*T) (data []byte, last bool)
	rest   []byte // of the current message
	last   bool
}

// NewReader makes a reader that begins with the message that was just received. of returns the data
// of a message, and whether it is the last.
func NewReader[T any](
	stream *connect.ClientStream[T], of func(*T) (data []byte, last bool),
) *Reader[T] {
	r := &Reader[T]{stream: stream, of: of}
	r.rest, r.last = of(stream.Msg())
	return r
}

// Read implements io.Reader.
func (r *Reader[T]) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		switch {
		case r.last:
			return 0, io.EOF
		case !r.stream.Receive():
			return 0, fmt.Errorf("%w: %w", ErrBroken, cmp.Or(r.stream.Err(), io.ErrUnexpectedEOF))
		}
		r.rest, r.last = r.of(r.stream.Msg())
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
