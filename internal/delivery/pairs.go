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

// Sink receives messages at the receivers' owner; to has the receivers' local indices.
type Sink[M any] func(to []uint32, msg []M)

func (x *Exchange[M]) sendPairs(to *peer[M], q int, kind transport.Kind, superstep int) error {
	to.frame = transport.Frame{
		To: q, Kind: kind, Encoding: uint8(Pairs), Count: len(to.positions), Presence: wire.Bytes(to.positions),
	}
	x.values(to)
	return x.send(&to.frame, superstep)
}

// pairs returns the positions of a frame of pairs, each less than n, and the messages.
func (x *Exchange[M]) pairs(in *transport.Frame, n int) ([]uint32, []M, error) {
	to := wire.Slice[uint32](in.Presence)
	if Encoding(in.Encoding) != Pairs || len(to) != in.Count || len(in.Presence) != 4*in.Count {
		return nil, nil, fmt.Errorf("from partition %d: %d pairs, and positions of %d bytes", in.From, in.Count, len(in.Presence))
	}
	for _, i := range to {
		if int(i) >= n {
			return nil, nil, fmt.Errorf("from partition %d: position %d of %d", in.From, i, n)
		}
	}
	messages, err := x.messagesOf(in)
	return to, messages, err
}

// Send exchanges the outboxes' messages to single vertices, and passes those for owned vertices to the sink. They go along the
// processor column to the row of the receiver's owner, and then along that row, combined before each hop if combine is not nil.
func (x *Exchange[M]) Send(ctx context.Context, outboxes []*kernel.Outbox[M], combine func(a, b M) M, sink Sink[M], superstep int) error {
	p := x.part
	g, column := p.Grid, p.Grid.Column(p.Index)
	x.buffers(&x.sends)
	for _, q := range p.Row {
		x.sends[x.place(q)].clear()
	}
	for row := range g.Rows {
		to := &x.sends[x.place(g.At(row, column))]
		to.clear()
		for c := range g.Columns {
			owner := g.At(row, c)
			for _, o := range outboxes {
				if g.At(row, column) == p.Index {
					x.add(&x.sends[x.place(owner)], o.To[owner], o.Msg[owner])
					continue
				}
				x.room(to, len(o.To[owner]))
				for _, local := range o.To[owner] {
					to.positions = append(to.positions, local*uint32(g.Columns)+uint32(c))
				}
				to.messages = append(to.messages, o.Msg[owner]...)
			}
		}
	}
	own := &x.sends[x.place(p.Index)]
	err := x.trade(ctx, p.Column, transport.Sends, len(p.Column), superstep, func(q int) error { return x.sendTo(q, transport.Sends, combine, superstep) }, func(in *transport.Frame) error {
		if g.Columns == 1 {
			to, messages, err := x.pairs(in, p.Owned)
			if err != nil {
				return err
			}
			sink(to, messages)
			return nil
		}
		to, messages, err := x.pairs(in, g.Columns*(p.Owned+1)) // another partition of the row may own one vertex more
		if err != nil {
			return err
		}
		for i, position := range to {
			c, local := int(position)%g.Columns, position/uint32(g.Columns)
			if c == column && int(local) >= p.Owned {
				return fmt.Errorf("from partition %d: a message to vertex %d of %d", in.From, local, p.Owned)
			}
			on := &x.sends[x.place(g.At(g.Row(p.Index), c))]
			x.room(on, 1)
			on.positions = append(on.positions, local)
			on.messages = append(on.messages, messages[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	sink(own.positions, own.messages)
	return x.trade(ctx, p.Row, transport.SendsOn, len(p.Row), superstep, func(q int) error { return x.sendTo(q, transport.SendsOn, combine, superstep) }, func(in *transport.Frame) error {
		to, messages, err := x.pairs(in, p.Owned)
		if err != nil {
			return err
		}
		sink(to, messages)
		return nil
	})
}

// sendTo sends a partition its buffered pairs.
func (x *Exchange[M]) sendTo(q int, kind transport.Kind, combine func(a, b M) M, superstep int) error {
	to := &x.sends[x.place(q)]
	if combine != nil {
		x.keys = mem.Grow(x.Store, x.keys[:0], len(to.positions))
		to.combined = mem.Grow(x.Store, to.combined[:0], len(to.positions))
		x.keys = to.combine(combine, x.keys)
	}
	return x.sendPairs(to, q, kind, superstep)
}

func (to *peer[M]) clear() { to.positions, to.messages = to.positions[:0], to.messages[:0] }

// room makes room for n pairs more.
func (x *Exchange[M]) room(to *peer[M], n int) {
	to.positions = mem.Grow(x.Store, to.positions, n)
	to.messages = mem.Grow(x.Store, to.messages, n)
}

func (x *Exchange[M]) add(to *peer[M], positions []uint32, messages []M) {
	x.room(to, len(positions))
	to.positions = append(to.positions, positions...)
	to.messages = append(to.messages, messages...)
}

// sent is a message to a single vertex, with its sender.
type sent[M any] struct {
	join
	msg M
}

// join is a message's sender, and its receiver by local index.
type join struct {
	from uint64
	to   uint32
	_    uint32
}

// joinBytes is the size of a join.
const joinBytes = 16

// SendInOrder is Send for outboxes with senders: nothing is combined, and every vertex's messages reach the sink in the order of
// their senders' ids. Only in flat grids.
func (x *Exchange[M]) SendInOrder(ctx context.Context, outboxes []*kernel.Outbox[M], sink Sink[M], superstep int) error {
	p := x.part
	x.ordered = x.ordered[:0]
	for q := range x.buffers(&x.sends) {
		to := &x.sends[q]
		to.joins, to.messages = to.joins[:0], to.messages[:0]
		for _, o := range outboxes {
			to.joins = mem.Grow(x.Store, to.joins, len(o.To[q]))
			to.messages = mem.Grow(x.Store, to.messages, len(o.To[q]))
			for i, local := range o.To[q] {
				to.joins = append(to.joins, join{from: o.From[q][i], to: local})
			}
			to.messages = append(to.messages, o.Msg[q]...)
		}
		if q == p.Index {
			x.order(to.joins, to.messages)
		}
	}
	err := x.trade(ctx, p.Column, transport.Sends, len(p.Column), superstep, func(q int) error {
		to := &x.sends[q]
		to.frame = transport.Frame{
			To: q, Kind: transport.Sends, Encoding: uint8(Pairs), Count: len(to.joins), Presence: wire.Bytes(to.joins),
		}
		x.values(to)
		return x.send(&to.frame, superstep)
	}, func(in *transport.Frame) error {
		joins := wire.Slice[join](in.Presence)
		messages, err := x.messagesOf(in)
		if err != nil {
			return err
		}
		if Encoding(in.Encoding) != Pairs || len(joins) != in.Count || len(in.Presence) != joinBytes*in.Count {
			return fmt.Errorf("from partition %d: %d messages, and receivers of %d bytes", in.From, in.Count, len(in.Presence))
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
	slices.SortStableFunc(x.ordered, func(a, b sent[M]) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from)) })
	x.to = mem.Grow(x.Store, x.to[:0], len(x.ordered))
	x.messages = mem.Grow(x.Store, x.messages[:0], len(x.ordered))
	for _, s := range x.ordered {
		x.to = append(x.to, s.to)
		x.messages = append(x.messages, s.msg)
	}
	sink(x.to, x.messages)
	return nil
}

func (x *Exchange[M]) order(joins []join, messages []M) {
	x.ordered = mem.Grow(x.Store, x.ordered, len(joins))
	for i, j := range joins {
		x.ordered = append(x.ordered, sent[M]{j, messages[i]})
	}
}

// combine reduces the messages to each receiver to one. It returns keys, the memory it sorts in, maybe grown.
func (to *peer[M]) combine(combine func(a, b M) M, keys []uint64) []uint64 {
	if len(to.positions) < 2 {
		return keys
	}
	keys = keys[:0]
	for i, local := range to.positions {
		keys = append(keys, uint64(local)<<32|uint64(uint32(i)))
	}
	slices.Sort(keys)
	messages := to.combined[:0]
	positions := to.positions[:0]
	last := uint32(0)
	for i, key := range keys {
		local, m := uint32(key>>32), to.messages[uint32(key)]
		if i > 0 && local == last {
			messages[len(messages)-1] = combine(messages[len(messages)-1], m)
			continue
		}
		last = local
		positions = append(positions, local)
		messages = append(messages, m)
	}
	to.positions, to.messages, to.combined = positions, messages, to.messages
	return keys
}
