package delivery

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
)

// Finished sends the newly finished owned vertices, fresh, to the other partitions of the processor
// row. It marks the vertices received from them in finished, by slot. s is the receivers' side.
func (x *Exchange) Finished(
	ctx context.Context, s *graph.Side, fresh *bitmap.Frontier, finished []uint64, block int,
) error {
	kind, peers := transport.Finished+transport.Kind(block), x.buffers(&x.finished[block])
	return x.trade(ctx, s.Line, kind, len(s.Line), func(q int) error {
		to, list := &peers[x.place(q)], s.Peers.Of(q)
		e, count, presence := to.presence.Encode(fresh, &list, x.force)
		to.frame = transport.Frame{
			To: q, Kind: kind, Encoding: uint8(e), Count: count, Presence: presence,
		}
		return x.send(&to.frame)
	}, nil, func(in *transport.Frame) error {
		if in.Ref != nil || len(in.Raw) != 0 {
			return fmt.Errorf("from partition %d: %d bytes of values with finished vertices",
				in.From, len(in.Raw))
		}
		n := int(s.Groups[in.From].Count)
		words := x.scratch(bitmap.Words(n))
		if err := Decode(Encoding(in.Encoding), in.Count, n, in.Presence, words); err != nil {
			return fmt.Errorf("from partition %d: %w", in.From, err)
		}
		lo, _ := s.Groups[in.From].Words()
		for w, word := range words {
			finished[lo+w] |= word
		}
		return nil
	})
}

// scratch returns a zeroed buffer of this number of words. It is valid until the next call.
func (x *Exchange) scratch(words int) []uint64 {
	if cap(x.words) < words {
		x.words = make([]uint64, words)
	}
	x.words = x.words[:words]
	clear(x.words)
	return x.words
}

// Token is a range of an owner's vertices that the blocks of a processor row pass on from one to
// the next. Each block removes the vertices for which it finds a message. It is the rotating bitmap
// c of Nakao20 (3.5). Several tokens of an owner are in flight at a time. Layout, little-endian, in
// Frame.Raw; Frame.Presence has the bits of Open:
//
//	| owner (4) | part (4) | first word (4) | words (4) |
type Token struct {
	Owner, Part int
	First       int      // first word in the bitmap of the owner's vertices
	Open        []uint64 // the words from First on: vertices that have no message yet
}

const tokenBytes = 16

// tokenBuffer has the send buffers of a token.
type tokenBuffer struct {
	frame    transport.Frame
	presence Presence
	raw      [tokenBytes]byte
}

// SendToken sends a token to partition q. A serial exchange waits until the token is written.
func (x *Exchange) SendToken(ctx context.Context, q int, t *Token, block int) error {
	if x.passing == len(x.tokens) {
		x.tokens = append(x.tokens, new(tokenBuffer))
	}
	p := x.tokens[x.passing]
	x.passing++
	e, count, presence := p.presence.EncodeRun(t.Open, []bitmap.Span{{To: len(t.Open)}},
		64*len(t.Open), x.force)
	for i, n := range [...]int{t.Owner, t.Part, t.First, len(t.Open)} {
		binary.LittleEndian.PutUint32(p.raw[4*i:], uint32(n))
	}
	p.frame = transport.Frame{
		To: q, Kind: transport.Ring + transport.Kind(block), Encoding: uint8(e), Count: count,
		Presence: presence, Raw: p.raw[:],
	}
	if err := x.send(&p.frame); err != nil || !x.serial {
		return err
	}
	return x.flush(ctx)
}

// ReceiveToken receives the next token for the block whose receivers' side is s, and returns the
// partition that sent it. The token's words are valid until the exchange receives anything else.
func (x *Exchange) ReceiveToken(
	ctx context.Context, s *graph.Side, t *Token, block int,
) (from int, err error) {
	in, err := x.receive(ctx, transport.Ring+transport.Kind(block), s.Line)
	if err != nil {
		return 0, err
	}
	if in.Ref != nil || len(in.Raw) != tokenBytes {
		return 0, fmt.Errorf("from partition %d: a token of %d bytes", in.From, len(in.Raw))
	}
	var words int
	for i, n := range [...]*int{&t.Owner, &t.Part, &t.First, &words} {
		*n = int(binary.LittleEndian.Uint32(in.Raw[4*i:]))
	}
	if !slices.Contains(s.Line, t.Owner) || t.First+words > len(s.Ghosts[t.Owner].Bits) {
		return 0, fmt.Errorf("from partition %d: a token of words %d to %d of partition %d",
			in.From, t.First, t.First+words, t.Owner)
	}
	t.Open = x.scratch(words)
	if err := Decode(Encoding(in.Encoding), in.Count, 64*words, in.Presence, t.Open); err != nil {
		return 0, fmt.Errorf("from partition %d: %w", in.From, err)
	}
	return in.From, nil
}
