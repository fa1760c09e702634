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

// Letter is what one partition tells another, which is in another process.
type Letter struct {
	From, To int
	Data     []byte
}

// Exchange sends letters and calls take with those that come, until all processes have had theirs. All processes call it
// at the same time. A letter's data is its sender's again when the next one is asked for.
type Exchange func(ctx context.Context, send iter.Seq[Letter], take func(Letter) error) error

// share makes lists of what partitions know of each other: what p knows of q's vertices becomes q's list for p. It runs
// when all partitions have the sides.
func (a *assembler) share(ctx context.Context, exchange Exchange, parts []*Partition, sides ...func(*Partition) *Side) error {
	type place struct{ side, to, from int }
	came := map[place]bitmap.Ranked{}
	send := func(yield func(Letter) bool) {
		for k, side := range sides {
			for _, p := range parts {
				if p == nil {
					continue
				}
				for _, q := range side(p).Line {
					if parts[q] != nil {
						continue
					}
					data := appendSet([]byte{byte(k)}, side(p).Peers[q].Bits)
					if !yield(Letter{p.Index, q, data}) {
						return
					}
				}
			}
		}
	}
	take := func(l Letter) error {
		if l.To < 0 || l.To >= len(parts) || parts[l.To] == nil || l.From < 0 || l.From >= len(parts) || parts[l.From] != nil ||
			len(l.Data) == 0 || int(l.Data[0]) >= len(sides) {
			return fmt.Errorf("a list from partition %d to %d: %w", l.From, l.To, errLetter)
		}
		p := parts[l.To]
		set := mem.Make[uint64](a.g.arena, bitmap.Words(p.Owned))
		if err := readSet(l.Data[1:], set, p.Owned); err != nil {
			return fmt.Errorf("a list from partition %d to %d: %w", l.From, l.To, err)
		}
		came[place{int(l.Data[0]), l.To, l.From}] = bitmap.Rank(set, mem.Make[uint32](a.g.arena, len(set)+1))
		return nil
	}
	if exchange != nil {
		if err := exchange(ctx, send, take); err != nil {
			return err
		}
	}
	for k, side := range sides {
		for _, p := range parts {
			if p == nil {
				continue
			}
			s := side(p)
			for _, q := range s.Line {
				switch list, ok := came[place{k, p.Index, q}]; {
				case ok:
					s.Peers[q] = list
				case parts[q] == nil:
					return fmt.Errorf("partition %d was told nothing by %d: %w", p.Index, q, errLetter)
				case q > p.Index:
					other := side(parts[q])
					s.Peers[q], other.Peers[p.Index] = other.Peers[p.Index], s.Peers[q]
				}
			}
		}
	}
	return nil
}

var errLetter = errors.New("the message makes no sense")

// appendSet encodes a set: as words or, where that is shorter, as the distances between its members, varints.
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
		return errLetter
	}
	kind, data := data[0], data[1:]
	if kind == 0 {
		if len(data) != 8*len(set) {
			return errLetter
		}
		for i := range set {
			set[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		if n&63 != 0 && set[len(set)-1]>>(n&63) != 0 {
			return errLetter
		}
		return nil
	}
	for next := uint64(0); len(data) > 0; next++ {
		gap, size := binary.Uvarint(data)
		if size <= 0 || gap >= uint64(n)-next {
			return errLetter
		}
		next += gap
		bitmap.Set(set, uint32(next))
		data = data[size:]
	}
	return nil
}
