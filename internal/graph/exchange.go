package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// Message is a message from one partition to a partition in another process.
type Message struct {
	From, To int
	Data     []byte
}

// Exchange sends messages and calls take with received messages, until all processes have received
// theirs. All processes call it at the same time. A message's data are valid only until the next
// message is requested from send.
type Exchange func(ctx context.Context, send iter.Seq[Message], take func(Message) error) error

// share makes the Peers of partitions from each other's ghosts: p's ghosts of q's vertices become
// q's list for p. It is called after all partitions have their sides.
func (a *Builder) share(
	ctx context.Context, exchange Exchange, sides ...func(*Partition) *Side,
) error {
	type place struct{ side, to, from int }
	parts, came := a.g.Parts, map[place][]uint64{}
	send := func(yield func(Message) bool) {
		for k, side := range sides {
			for p := range a.g.here() {
				for _, q := range side(p).Line {
					if parts[q] == nil && !yield(Message{
						p.Index, q, appendSet([]byte{byte(k)}, side(p).Ghosts[q].Bits),
					}) {
						return
					}
				}
			}
		}
	}
	take := func(m Message) error {
		if m.To < 0 || m.To >= len(parts) || parts[m.To] == nil || m.From < 0 ||
			m.From >= len(parts) || parts[m.From] != nil ||
			len(m.Data) == 0 || int(m.Data[0]) >= len(sides) {
			return fmt.Errorf("a list from partition %d to %d: %w", m.From, m.To, errMessage)
		}
		n := parts[m.To].Owned
		set := mem.Make[uint64](a.tmp, bitmap.Words(n))
		if err := readSet(m.Data[1:], set, n); err != nil {
			return fmt.Errorf("a list from partition %d to %d: %w", m.From, m.To, err)
		}
		came[place{int(m.Data[0]), m.To, m.From}] = set
		return nil
	}
	if err := exchange(ctx, send, take); err != nil {
		return err
	}
	for k, side := range sides {
		for p := range a.g.here() {
			told := make([][]uint64, len(parts))
			for _, q := range side(p).Line {
				if parts[q] != nil {
					told[q] = side(parts[q]).Ghosts[p.Index].Bits
				} else if told[q] = came[place{k, p.Index, q}]; told[q] == nil {
					return fmt.Errorf("partition %d has no list from %d: %w",
						p.Index, q, errMessage)
				}
			}
			side(p).Peers = newPeers(a.g.arena, told)
		}
	}
	return nil
}

var errMessage = errors.New("invalid message")

// appendSet encodes a set: as words, or as varints of the distances between its members if that is
// shorter.
//
//	| 0 | word (8) ... |        | 1 | distance ... |
func appendSet(dst []byte, set []uint64) []byte {
	n, start := bitmap.Count(set), len(dst)
	if n < len(set)*4 {
		dst = append(dst, 1)
		next := uint32(0)
		bitmap.Each(set, func(i uint32) {
			dst = binary.AppendUvarint(dst, uint64(i-next))
			next = i + 1
		})
		if len(dst)-start <= 8*len(set) {
			return dst
		}
		dst = dst[:start]
	}
	return append(append(dst, 0), wire.Bytes(set)...)
}

// readSet decodes a set of numbers below n into words that are zero.
func readSet(data []byte, set []uint64, n int) error {
	if len(data) == 0 || data[0] > 1 {
		return errMessage
	}
	kind, data := data[0], data[1:]
	if kind == 0 {
		if len(data) != 8*len(set) {
			return errMessage
		}
		for i := range set {
			set[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		if n&63 != 0 && set[len(set)-1]>>(n&63) != 0 {
			return errMessage
		}
		return nil
	}
	for next := uint64(0); len(data) > 0; next++ {
		gap, size := binary.Uvarint(data)
		if size <= 0 || gap >= uint64(n)-next {
			return errMessage
		}
		next += gap
		bitmap.Set(set, uint32(next))
		data = data[size:]
	}
	return nil
}
