package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/wire"
)

// Sink receives messages in the partition that owns the receivers. to has the receivers' local
// indices. Both arguments are valid only during the call.
type Sink func(to []uint32, messages kernel.Column)

// Combiner combines messages to single vertices. keys is sorted; a key is receiver<<32 | index of a
// message in from. Combine appends one combined message per receiver to the column to, which has
// enough room. It appends the receivers to positions and returns positions.
type Combiner interface {
	Combine(keys []uint64, from, to kernel.Column, positions []uint32) []uint32
}

// sendPairs sends the messages of a buffer, with their receivers.
func (x *Exchange) sendPairs(to *peer, q int, kind transport.Kind, receivers []byte) error {
	to.frame = transport.Frame{
		To: q, Kind: kind, Encoding: uint8(Pairs), Count: to.messages.Len(), Presence: receivers,
	}
	to.values()
	return x.send(&to.frame)
}

// pairs returns the positions of a frame of pairs, each less than n, and the messages.
func (x *Exchange) pairs(in *transport.Frame, n int) ([]uint32, kernel.Column, error) {
	to := wire.Slice[uint32](in.Presence)
	if Encoding(in.Encoding) != Pairs || len(to) != in.Count || len(in.Presence) != 4*in.Count {
		return nil, nil, fmt.Errorf("from partition %d: %d pairs, and positions of %d bytes",
			in.From, in.Count, len(in.Presence))
	}
	for _, i := range to {
		if int(i) >= n {
			return nil, nil, fmt.Errorf("from partition %d: position %d of %d", in.From, i, n)
		}
	}
	messages, err := x.messagesOf(in, x.view)
	return to, messages, err
}

// Send exchanges the outboxes' messages to single vertices, and passes messages for owned vertices
// to the sink. A message first goes along the processor column to the row of the receiver's owner,
// then along that row. If combine is not nil, it combines messages before each hop.
func (x *Exchange) Send(
	ctx context.Context, outboxes []kernel.Sends, combine Combiner, sink Sink,
) error {
	p := x.part
	g, column := p.Grid, p.Grid.Column(p.Index)
	x.buffers(&x.sends)
	for _, q := range p.Row {
		x.clear(&x.sends[x.place(q)])
	}
	for row := range g.Rows {
		to := &x.sends[x.place(g.At(row, column))]
		x.clear(to)
		for c := range g.Columns {
			owner := g.At(row, c)
			for _, o := range outboxes {
				receivers := o.Receivers(owner)
				if len(receivers) == 0 {
					continue
				}
				if g.At(row, column) == p.Index {
					to := &x.sends[x.place(owner)]
					x.room(to, len(receivers))
					to.positions = append(to.positions, receivers...)
					to.messages.Append(o.Messages(owner))
					continue
				}
				x.room(to, len(receivers))
				for _, local := range receivers {
					to.positions = append(to.positions, local*uint32(g.Columns)+uint32(c))
				}
				to.messages.Append(o.Messages(owner))
			}
		}
	}
	own := &x.sends[x.place(p.Index)]
	take := func(in *transport.Frame) error {
		to, messages, err := x.pairs(in, p.Owned)
		if err == nil {
			sink(to, messages)
		}
		return err
	}
	send := func(q int) error { return x.sendTo(q, transport.Sends, combine) }
	err := x.trade(ctx, p.Column, transport.Sends, len(p.Column), send, nil,
		func(in *transport.Frame) error {
			if g.Columns == 1 {
				return take(in)
			}
			to, messages, err := x.pairs(in, g.Columns*p.Most)
			if err != nil {
				return err
			}
			for i, position := range to {
				c, local := int(position)%g.Columns, position/uint32(g.Columns)
				if c == column && int(local) >= p.Owned {
					return fmt.Errorf("from partition %d: a message to vertex %d of %d", in.From,
						local, p.Owned)
				}
				x.pick(&x.sends[x.place(g.At(g.Row(p.Index), c))], local, i)
			}
			for c := range g.Columns {
				x.sends[x.place(g.At(g.Row(p.Index), c))].take(messages)
			}
			return nil
		})
	if err != nil {
		return err
	}
	sink(own.positions, own.messages)
	send = func(q int) error { return x.sendTo(q, transport.SendsOn, combine) }
	return x.trade(ctx, p.Row, transport.SendsOn, len(p.Row), send, nil, take)
}

// sendTo sends the buffered pairs of a partition.
func (x *Exchange) sendTo(q int, kind transport.Kind, combine Combiner) error {
	to := &x.sends[x.place(q)]
	if combine != nil && len(to.positions) > 1 {
		x.combine(to, combine)
	}
	return x.sendPairs(to, q, kind, wire.Bytes(to.positions))
}

// combine reduces the messages to each receiver to one.
func (x *Exchange) combine(to *peer, combine Combiner) {
	x.keys = mem.Grow(x.Store, x.keys[:0], len(to.positions))
	for i, local := range to.positions {
		x.keys = append(x.keys, uint64(local)<<32|uint64(uint32(i)))
	}
	slices.Sort(x.keys)
	x.empty(&to.combined)
	to.combined.Room(len(to.positions))
	to.positions = combine.Combine(x.keys, to.messages, to.combined, to.positions[:0])
	to.messages, to.combined = to.combined, to.messages
}

// empty truncates a buffer of messages, or makes it.
func (x *Exchange) empty(messages *kernel.Column) {
	if *messages == nil {
		*messages = x.emptyColumn.New(x.Store)
	}
	(*messages).Truncate(0)
}

// clear empties the buffers of pairs.
func (x *Exchange) clear(to *peer) {
	to.positions, to.picked = to.positions[:0], to.picked[:0]
	x.empty(&to.messages)
}

// room grows the buffers for n more pairs.
func (x *Exchange) room(to *peer, n int) {
	to.positions = mem.Grow(x.Store, to.positions, n)
	to.messages.Room(n)
}

// pick adds a pair without copying its message. i is the index of the message in the column that is
// later passed to take.
func (x *Exchange) pick(to *peer, position uint32, i int) {
	if len(to.positions) == cap(to.positions) || len(to.picked) == cap(to.picked) {
		to.positions = mem.Grow(x.Store, to.positions, 1)
		to.picked = mem.Grow(x.Store, to.picked, 1)
	}
	to.positions = append(to.positions, position)
	to.picked = append(to.picked, uint32(i))
}

// take appends the picked messages.
func (to *peer) take(messages kernel.Column) {
	if len(to.picked) > 0 {
		to.messages.AppendAt(messages, to.picked)
		to.picked = to.picked[:0]
	}
}

// join describes a message in SendInOrder: its sender, its receiver's local index, and at, the
// message's index in the received messages.
type join struct {
	from uint64
	to   uint32
	at   uint32
}

const joinBytes = 16

// SendInOrder is Send for outboxes with senders. It combines nothing. The sink gets each vertex's
// messages in the order of the senders' ids. The grid must be flat.
func (x *Exchange) SendInOrder(ctx context.Context, outboxes []kernel.Sends, sink Sink) error {
	p := x.part
	x.joins = x.joins[:0]
	x.empty(&x.messages[0])
	for q := range x.buffers(&x.sends) {
		to := &x.sends[q]
		to.joins = to.joins[:0]
		x.empty(&to.messages)
		for _, o := range outboxes {
			receivers := o.Receivers(q)
			if len(receivers) == 0 {
				continue
			}
			to.joins = mem.Grow(x.Store, to.joins, len(receivers))
			senders := o.Senders(q)
			for i, local := range receivers {
				to.joins = append(to.joins, join{from: senders[i], to: local})
			}
			to.messages.Append(o.Messages(q))
		}
		if q == p.Index {
			x.order(to.joins, to.messages)
		}
	}
	err := x.trade(ctx, p.Column, transport.Sends, len(p.Column), func(q int) error {
		return x.sendPairs(&x.sends[q], q, transport.Sends, wire.Bytes(x.sends[q].joins))
	}, nil, func(in *transport.Frame) error {
		joins := wire.Slice[join](in.Presence)
		messages, err := x.messagesOf(in, x.view)
		if err != nil {
			return err
		}
		if Encoding(in.Encoding) != Pairs || len(joins) != in.Count ||
			len(in.Presence) != joinBytes*in.Count {
			return fmt.Errorf("from partition %d: %d messages, and receivers of %d bytes", in.From,
				in.Count, len(in.Presence))
		}
		for _, j := range joins {
			if int(j.to) >= p.Owned {
				return fmt.Errorf("from partition %d: vertex %d of %d", in.From, j.to, p.Owned)
			}
		}
		x.order(joins, messages)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(x.joins, func(a, b join) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from), cmp.Compare(a.at, b.at))
	})
	n := len(x.joins)
	x.to = mem.Grow(x.Store, x.to[:0], 2*n)[:2*n] // receivers; then indices of messages
	for i, j := range x.joins {
		x.to[i], x.to[n+i] = j.to, j.at
	}
	x.empty(&x.messages[1])
	x.messages[1].AppendAt(x.messages[0], x.to[n:])
	sink(x.to[:n], x.messages[1])
	return nil
}

// order adds messages to those that SendInOrder sorts.
func (x *Exchange) order(joins []join, messages kernel.Column) {
	x.joins = mem.Grow(x.Store, x.joins, len(joins))
	for _, j := range joins {
		j.at = uint32(len(x.joins))
		x.joins = append(x.joins, j)
	}
	x.messages[0].Append(messages)
}
