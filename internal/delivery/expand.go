package delivery

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
)

// A long column of expand is sent in parts. A part is a range of the column's list that begins at a
// multiple of 64. It is a frame with its own encoding. So the receiver can process one part while
// others are on the network, and parts can be sent before the column is complete (SendAhead). Both
// sides compute the number of parts from the length of the list. The upper bits of a frame's
// encoding are the number of its part.
const (
	partBytes    = 128 << 10 // the least size, of values and presence
	mostParts    = 8
	encodingBits = 1<<4 - 1
)

// parts returns the number of parts of a column over a list of n.
func (x *Exchange) parts(n int, traits kernel.Traits) int {
	if x.serial || !traits.Raw {
		return 1
	}
	return max(min((n*traits.Bytes+n/8)/x.partBytes, n/64, mostParts), 1)
}

// cut returns the beginning of part i of a list of n.
func cut(n, i, parts int) int {
	if i == parts {
		return n
	}
	return n / parts * i &^ 63
}

// column has the buffers of the columns for one other partition.
type column struct {
	// The send buffers of parts, by the last bit of the superstep: the next superstep's buffers are
	// filled while this one's may still be read.
	out  [2][]peer
	next int   // the superstep for which parts were sent ahead
	sent uint8 // which parts, as bits
	// Which parts this superstep received, as bits.
	superstep int
	received  uint8
}

// expanding returns the frame kind of an expand, and the buffers of its columns. block is the number
// of the block, plus 2 for columns of hubs only.
func (x *Exchange) expanding(block int) (transport.Kind, []column) {
	if x.columns[block] == nil {
		x.columns[block] = make([]column, x.places())
	}
	return transport.Expand + transport.Kind(block), x.columns[block]
}

// begin returns the send buffers of a superstep's parts.
func (x *Exchange) begin(c *column, superstep, parts int) []peer {
	if c.next != superstep {
		c.next, c.sent = superstep, 0
	}
	out := &c.out[0]
	if x.distant != nil {
		out = &c.out[superstep&1]
	}
	for len(*out) < parts {
		*out = append(*out, peer{})
	}
	return *out
}

// Expand sends the frontier's messages to the partitions of the line that have ghosts of their
// senders. It writes received columns to the ghost slots of s, the senders' side: presence into the
// frontier, values into the kernel's column. It reports whether every received column was full.
// block is the number of the block in the layout: 1 for reversed arcs, else 0. If hubs is not 0, the
// columns have only the senders in the first hubs words of each partition, and other ghosts are
// absent. meanwhile, if not nil, computes while the columns are transferred; see trade.
func (x *Exchange) Expand(
	ctx context.Context, s *graph.Side, k kernel.Broadcast, f *bitmap.Frontier, block, hubs int,
	meanwhile func() error,
) (bool, error) {
	limit, ghosts := uint32(math.MaxUint32), func(q int) int { return int(s.Groups[q].Count) }
	if hubs > 0 {
		block, limit = block+2, uint32(hubs)<<6
		ghosts = func(q int) int { return x.part.GhostsBelow(s.Groups[q], int(limit)) }
	}
	kind, columns := x.expanding(block)
	traits, full, frames := k.Traits(), true, 0
	if x.column == nil {
		x.column = k.Column(false).New(nil)
	}
	for _, q := range s.Line {
		frames += x.parts(ghosts(q), traits)
	}
	err := x.trade(ctx, s.Line, kind, frames, func(q int) error {
		list, to := s.Peers.Of(q), &columns[x.place(q)]
		n := list.Below(limit)
		parts := x.parts(n, traits)
		out := x.begin(to, x.superstep, parts)
		for i := range out[:parts] {
			part := &out[i]
			if to.sent>>i&1 != 0 {
				x.count(&part.frame)
				x.end.Claim(&part.frame)
				continue
			}
			part.list = list.Part(cut(n, i, parts), cut(n, i+1, parts))
			x.packPart(part, k, false, f, q, kind, i)
			if err := x.send(&part.frame); err != nil {
				return err
			}
		}
		return nil
	}, meanwhile, func(in *transport.Frame) error {
		group, from := s.Groups[in.From], &columns[x.place(in.From)]
		n := ghosts(in.From)
		part, parts := int(in.Encoding>>4), x.parts(n, traits)
		if from.superstep != x.superstep {
			from.superstep, from.received = x.superstep, 0
		}
		if part >= parts || from.received>>part&1 != 0 {
			return fmt.Errorf("from partition %d: part %d of %d of a column is invalid or repeated",
				in.From, part, parts)
		}
		from.received |= 1 << part
		messages, err := x.messagesOf(in, x.column)
		if err != nil {
			return err
		}
		first := cut(n, part, parts)
		run := graph.Group{
			Start: group.Start + uint32(first), Count: uint32(cut(n, part+1, parts) - first),
		}
		lo, hi := run.Words()
		end := hi
		if part == parts-1 { // ghosts that are not hubs are after the last part
			_, end = group.Words()
		}
		x.spans = f.Spans(lo, end, x.spans[:0])
		for _, s := range x.spans {
			clear(f.Words[lo:end][s.From:s.To])
		}
		full = full && in.Count == int(run.Count)
		to, encoding := k.Column(false), Encoding(in.Encoding&encodingBits)
		if encoding == Sparse && in.Count < (hi-lo)/placeWords {
			at := 0
			x.probe(PassedWords, placeWords*in.Count)
			err = decodeSparse(in.Count, int(run.Count), in.Presence, func(first uint32, low []byte) {
				for ; len(low) > 1; low = low[2:] {
					slot := run.Start + first + uint32(binary.LittleEndian.Uint16(low))
					if f.Add(slot); traits.Bytes > 0 {
						to.Copy(int(slot), messages, at, 1)
					}
					at++
				}
			})
		} else if err = Decode(encoding, in.Count, int(run.Count), in.Presence,
			f.Words[lo:hi]); err == nil {
			x.probe(PassedWords, hi-lo)
			for w := lo; w < hi; w++ {
				f.Mark(w)
			}
			if in.Count > 0 {
				to.SetBits(run.Start, f.Words[lo:hi], messages)
			}
		}
		if err != nil {
			return fmt.Errorf("from partition %d: %w", in.From, err)
		}
		return nil
	})
	return full, err
}

// packPart fills the frame of part i of a column to partition q. next selects the messages of the
// next superstep.
func (x *Exchange) packPart(
	to *peer, k kernel.Broadcast, next bool, f *bitmap.Frontier, q int, kind transport.Kind, i int,
) {
	e, count, presence := to.presence.Encode(f, &to.list, x.force)
	from, traits := k.Column(next), k.Traits()
	// A new column does not keep the objects of earlier messages.
	if to.messages == nil || count == 0 && !traits.Raw {
		to.messages = from.New(nil)
	}
	to.messages.Truncate(0)
	if count > 0 && traits.Bytes > 0 {
		to.messages.Room(count)
		to.messages.AppendList(from, f, &to.list)
	}
	to.frame = transport.Frame{
		To: q, Kind: kind, Encoding: uint8(e) | uint8(i)<<4, Count: count, Presence: presence,
	}
	to.values()
}

// Ran describes which words of the owned vertices have run: words below Below and words in [From,
// To).
type Ran struct{ Below, From, To int }

// AllRan means that all words have run.
var AllRan = Ran{Below: math.MaxInt}

// All reports whether all words from first to last have run.
func (r *Ran) All(first, last int) bool {
	return last < r.Below || first >= r.From && last < r.To
}

// FirstPart returns the first word after all senders of the first part, of all columns that are
// sent ahead in several parts. It returns 0 if there is no such column.
func (x *Exchange) FirstPart(s *graph.Side, k kernel.Broadcast) int {
	end := 0
	if x.distant == nil || !k.Traits().Raw {
		return end
	}
	for _, q := range s.Line {
		if list := s.Peers.Of(q); x.distant[q] {
			if parts := x.parts(list.Count(), k.Traits()); parts > 1 {
				end = max(end, int(list.At(cut(list.Count(), 1, parts)-1)>>6)+1)
			}
		}
	}
	return end
}

// SendAhead sends parts of the next superstep's columns to distant partitions: the parts whose
// senders have all run. Expand of the next superstep sends the remaining parts. If that superstep
// does not expand, the receivers drop the early parts.
func (x *Exchange) SendAhead(
	s *graph.Side, k kernel.Broadcast, f *bitmap.Frontier, block int, ran *Ran,
) error {
	traits := k.Traits()
	if x.distant == nil || !traits.Raw {
		return nil
	}
	kind, columns := x.expanding(block)
	superstep := x.superstep + 1
	for _, q := range s.Line {
		if !x.distant[q] {
			continue
		}
		list, to := s.Peers.Of(q), &columns[x.place(q)]
		n := list.Count()
		parts := x.parts(n, traits)
		out := x.begin(to, superstep, parts)
		for i := range out[:parts] {
			from, end := cut(n, i, parts), cut(n, i+1, parts)
			if to.sent>>i&1 != 0 || end > from && *ran != AllRan &&
				!ran.All(int(list.At(from)>>6), int(list.At(end-1)>>6)) {
				continue
			}
			part := &out[i]
			part.list = list.Part(from, end)
			x.packPart(part, k, true, f, q, kind, i)
			part.frame.From, part.frame.Superstep = x.part.Index, superstep
			taken, err := x.end.SendAhead(&part.frame)
			if err != nil {
				return err
			}
			if !taken {
				break
			}
			to.sent |= 1 << i
		}
	}
	return nil
}
