package build

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
)

// messages is a graph.Exchange. It sends rounds of messages. In each round every rank gets one
// buffer with the messages to its partitions, and a flag that tells whether more rounds follow:
//
//	| more (1) | from (4) | to (4) | bytes (8) | ... | from (4) | ...
func (b *builder) messages(
	ctx context.Context, send iter.Seq[graph.Message], take func(graph.Message) error,
) error {
	next, stop := iter.Pull(send)
	defer stop()
	more := true
	for {
		out := make([][]byte, b.ranks)
		for rank := range out {
			out[rank] = []byte{0}
		}
		for sum := 0; more && sum < b.piece; {
			var l graph.Message
			if l, more = next(); !more {
				break
			}
			to := &out[b.owner[l.To]]
			*to = binary.LittleEndian.AppendUint32(*to, uint32(l.From))
			*to = binary.LittleEndian.AppendUint32(*to, uint32(l.To))
			*to = append(appendWord(*to, uint64(len(l.Data))), l.Data...)
			sum += len(l.Data)
		}
		if more {
			for rank := range out {
				out[rank][0] = 1
			}
		}
		in, err := b.group.Alltoall(ctx, b.call(), out)
		if err != nil {
			return err
		}
		last := true
		for rank, data := range in {
			another, err := eachMessage(data, take)
			if err != nil {
				return fmt.Errorf("from rank %d: %w", rank, err)
			}
			last = last && !another
		}
		if last {
			return nil
		}
	}
}

// eachMessage calls take with the messages in a buffer, and reports whether more rounds follow.
func eachMessage(data []byte, take func(graph.Message) error) (more bool, err error) {
	if len(data) == 0 || data[0] > 1 {
		return false, fmt.Errorf("%w: invalid header", collective.ErrMessage)
	}
	more, data = data[0] == 1, data[1:]
	for len(data) > 0 {
		if len(data) < 16 || binary.LittleEndian.Uint64(data[8:]) > uint64(len(data)-16) {
			return false, fmt.Errorf("%w: a message is truncated", collective.ErrMessage)
		}
		from, to := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		l := graph.Message{From: int(from), To: int(to)}
		n := binary.LittleEndian.Uint64(data[8:])
		l.Data, data = data[16:16+n], data[16+n:]
		if err := take(l); err != nil {
			return false, err
		}
	}
	return more, nil
}
