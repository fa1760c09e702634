// Package delivery exchanges messages between partitions, and chooses the scheme of each superstep
// by a cost model. Package engine calls it between the loops over vertices. Read exchange.go first,
// then expand.go (messages to all neighbours), pairs.go (messages to one vertex), and policy.go and
// model.go (the choice).
//
// The structures of Ueno13 in this code:
//
//	HM   the kernel's column of messages to all neighbours, by owned slot  kernel.MessageColumn
//	HB   the frontier: presence of HM                                      bitmap.Frontier
//	NBp  owned vertices with an edge into partition p                      graph.Side.Peers.Of(p)
//	SBp  HB & NBp, packed to NBp's length: a column's presence             Presence.Encode
//	SMp  the values of HM at the ones of SBp                               kernel.Column.AppendList
//	RB   presence by ghost slot: the frontier's words of p's group         Decode
//	RM   values, written to the ghost slots they belong to                 kernel.Column.SetBits
//	RO   offsets into RM; not needed (docs/design/resolving-messages.md)
package delivery

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/wire"
)

// Encoding tells how a column encodes which vertices of its list have a message (Nakao20, 3.5.2).
type Encoding uint8

const (
	Auto   Encoding = iota // the shortest; a setting, never in a frame
	All                    // all vertices are present; no bytes
	Bitmap                 // a bit per entry
	Sparse                 // the positions of the vertices that are present
	Pairs                  // uncombined messages: one position each, in any order, with repetitions
)

var encodings = []string{"auto", "all", "bitmap", "sparse", "pairs"}

// Valid reports whether e is a valid setting. Pairs is not valid, because a column is never sent as
// pairs.
func (e Encoding) Valid() bool { return e < Pairs }

func (e Encoding) String() string { return encodings[e] }

// ParseEncoding reads auto, all, bitmap or sparse.
func ParseEncoding(s string) (Encoding, error) {
	if i := slices.Index(encodings[:Pairs], s); i >= 0 {
		return Encoding(i), nil
	}
	return 0, fmt.Errorf("found %q, expected auto, all, bitmap or sparse", s)
}

// choose returns the encoding for count ones in a list of n. If All is forced but the column is not
// full, the result is Bitmap.
//
// A position takes 2 bytes, so Sparse is shorter if fewer than one vertex in 16 is present. Nakao20
// uses 64-bit positions: there the limit is one in 64.
func choose(count, n int, force Encoding) Encoding {
	switch {
	case force == Bitmap || force == Sparse:
		return force
	case count == n:
		return All
	case force == All || 16*count >= n:
		return Bitmap
	default:
		return Sparse
	}
}

// Presence has the buffers for the encoded presence of a column.
type Presence struct {
	words  []uint64
	sparse sparse
}

// Encode encodes which vertices of a list are in the frontier, by their positions in the list. It
// returns the encoding, the number of vertices present, and the bytes. The bytes are valid until
// the next call.
func (p *Presence) Encode(
	in *bitmap.Frontier, list *bitmap.List, force Encoding,
) (Encoding, int, []byte) {
	count := 0
	list.Shared(in, func(_ int, word, _ uint64, _ uint32) { count += bits.OnesCount64(word) })
	n := list.Count()
	switch e := choose(count, n, force); e {
	case Bitmap:
		out := p.clear(n)
		list.Shared(in, func(_ int, word, mask uint64, at uint32) {
			packed := bitmap.Compress(word, mask)
			out[at>>6] |= packed << (at & 63)
			if spill := packed >> 1 >> (63 - at&63); spill != 0 {
				out[at>>6+1] |= spill
			}
		})
		return e, count, wire.Bytes(out[:bitmap.Words(n)])
	case Sparse:
		s := p.begin()
		list.Shared(in, func(_ int, word, mask uint64, first uint32) {
			for ; word != 0; word &= word - 1 {
				below := word&-word - 1
				s.add(first + uint32(bits.OnesCount64(mask&below)))
			}
		})
		return e, count, s.out
	default:
		return e, count, nil
	}
}

// EncodeRun is Encode for n consecutive slots, such as the ghosts of one owner. words has their
// bits. All ones are in spans.
func (p *Presence) EncodeRun(
	words []uint64, spans []bitmap.Span, n int, force Encoding,
) (Encoding, int, []byte) {
	count := 0
	for _, s := range spans {
		count += bitmap.Count(words[s.From:s.To])
	}
	switch e := choose(count, n, force); e {
	case Bitmap:
		out := p.clear(n)
		copy(out, words)
		return e, count, wire.Bytes(out[:bitmap.Words(n)])
	case Sparse:
		s := p.begin()
		for _, span := range spans {
			for w := span.From; w < span.To; w++ {
				for word := words[w]; word != 0; word &= word - 1 {
					s.add(uint32(w<<6 + bits.TrailingZeros64(word)))
				}
			}
		}
		return e, count, s.out
	default:
		return e, count, nil
	}
}

func (p *Presence) clear(n int) []uint64 {
	size := bitmap.Words(n) + 1
	if cap(p.words) < size {
		p.words = make([]uint64, size)
	}
	p.words = p.words[:size]
	clear(p.words)
	return p.words
}

// sparse encodes positions as 16-bit numbers, in runs of 65,536 positions. A run that has any
// position consists of its number, the count of positions less one, and their low halves.
//
//	| run | count-1 | low ... low | run | count-1 | low ...
type sparse struct {
	out   []byte
	run   uint32
	start int // where the count of the current run is; 0 before the first run
}

func (p *Presence) begin() *sparse {
	p.sparse = sparse{out: p.sparse.out[:0]}
	return &p.sparse
}

func (s *sparse) add(i uint32) {
	if s.start == 0 || i>>16 != s.run {
		s.run = i >> 16
		s.out = binary.LittleEndian.AppendUint16(s.out, uint16(s.run))
		s.start = len(s.out)
		s.out = binary.LittleEndian.AppendUint16(s.out, 0)
	} else {
		n := binary.LittleEndian.Uint16(s.out[s.start:])
		binary.LittleEndian.PutUint16(s.out[s.start:], n+1)
	}
	s.out = binary.LittleEndian.AppendUint16(s.out, uint16(i))
}

// Decode writes the presence of a column over a list of n into words. words must hold n bits, all
// zero. Decode returns an error for any input that Encode does not write.
func Decode(e Encoding, count, n int, presence []byte, words []uint64) error {
	if count < 0 || count > n {
		return fmt.Errorf("column: %d of %d present", count, n)
	}
	got := 0
	switch e {
	case All:
		if count != n || len(presence) != 0 {
			return fmt.Errorf("column: encoding all for %d vertices, but a count of %d", n, count)
		}
		bitmap.Fill(words, n)
		return nil
	case Bitmap:
		if len(presence) != 8*bitmap.Words(n) {
			return fmt.Errorf("column: a bitmap of %d bytes for %d vertices", len(presence), n)
		}
		got = bitmap.Count(words[:copy(words, wire.Slice[uint64](presence))])
		if n&63 != 0 && words[n>>6]>>(n&63) != 0 {
			return fmt.Errorf("column: a bit beyond %d", n)
		}
	case Sparse:
		return decodeSparse(count, n, presence, func(first uint32, low []byte) {
			for ; len(low) > 1; low = low[2:] {
				bitmap.Set(words, first|uint32(binary.LittleEndian.Uint16(low)))
			}
		})
	default:
		return fmt.Errorf("column: encoding %d", e)
	}
	if got != count {
		return wrongCount(got, count)
	}
	return nil
}

func wrongCount(got, count int) error {
	return fmt.Errorf("column: found %d vertices, expected %d", got, count)
}

// decodeSparse calls each with the runs of count positions: the first of 65,536, and the low halves
// of those present.
func decodeSparse(count, n int, b []byte, each func(first uint32, low []byte)) error {
	got, next := 0, int64(0)
	for len(b) > 0 {
		if len(b) < 6 {
			return fmt.Errorf("column: truncated positions")
		}
		run := int64(binary.LittleEndian.Uint16(b)) << 16
		more := int(binary.LittleEndian.Uint16(b[2:])) + 1
		if b = b[4:]; len(b) < 2*more {
			return fmt.Errorf("column: truncated positions")
		}
		for k := range more {
			i := run | int64(binary.LittleEndian.Uint16(b[2*k:]))
			if i < next || i >= int64(n) {
				return fmt.Errorf("column: position %d of %d, after %d", i, n, next-1)
			}
			next = i + 1
		}
		if got += more; got > count {
			return wrongCount(got, count)
		}
		each(uint32(run), b[:2*more])
		b = b[2*more:]
	}
	if got != count {
		return wrongCount(got, count)
	}
	return nil
}
