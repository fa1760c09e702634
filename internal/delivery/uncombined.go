package delivery

import (
	"context"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/wire"
)

// Uncombined sends pushed messages one by one, like the naive delivery in Ueno13. bins has pairs of
// destination slot and message. Slots below ghost are owned: their messages go to the sink
// directly, while other messages are on the network. s is the receivers' side.
func (x *Exchange) Uncombined(
	ctx context.Context, s *graph.Side, ghost uint32, bins []kernel.Pairs, sink Sink,
	block int,
) error {
	kind, peers := x.folding(block)
	for i := range peers {
		x.clear(&peers[i])
	}
	here := &peers[x.place(x.part.Index)]
	for _, b := range bins {
		x.reserve(s.Groups, ghost, b, peers)
	}
	for _, b := range bins {
		x.distribute(s.Groups, ghost, b, peers)
	}
	send := func(q int) error {
		to := &peers[x.place(q)]
		return x.sendPairs(to, q, kind, wire.Bytes(to.positions))
	}
	own := func() error {
		for _, b := range bins {
			shift, to := b.Layout()
			for i := range int(ghost >> shift) {
				sink(to[i], b.Messages(i))
			}
		}
		sink(here.positions, here.messages)
		return nil
	}
	return x.trade(ctx, s.Line, kind, len(s.Line), send, own, func(in *transport.Frame) error {
		list := s.Peers.Of(in.From)
		to, messages, err := x.pairs(in, list.Count())
		if err != nil {
			return err
		}
		sink(x.membersAt(&list, to), messages)
		return nil
	})
}

// fewPairs is the threshold of membersAt: if there are fewer pairs than 1/fewPairs of a list's
// members, it looks up each position; otherwise it unpacks the whole list.
const fewPairs = 16

// membersAt returns the members of a list at positions.
func (x *Exchange) membersAt(list *bitmap.List, positions []uint32) []uint32 {
	x.to = x.to[:0]
	if len(positions) < list.Count()/fewPairs {
		x.to = mem.Grow(x.Store, x.to, len(positions))
		for _, position := range positions {
			x.to = append(x.to, list.At(int(position)))
		}
		return x.to
	}
	x.to = mem.Grow(x.Store, x.to, list.Count()+len(positions))
	list.Each(func(i uint32) { x.to = append(x.to, i) })
	n := len(x.to)
	for _, position := range positions {
		x.to = append(x.to, x.to[position])
	}
	return x.to[n:]
}

// distribute copies the pairs of bins to the buffers of the receivers' owners. It skips bins that
// have only owned slots. Usually the slots of a bin have one owner, and distribute copies the whole
// bin. If a bin spans several owners, it looks up the owner of each slot.
func (x *Exchange) distribute(groups []graph.Group, ghost uint32, b kernel.Pairs, peers []peer) {
	here, first := &peers[x.place(x.part.Index)], 0
	shift, receivers := b.Layout()
	for i := int(ghost >> shift); i < len(receivers); i++ {
		lo, to := uint32(i)<<shift, receivers[i]
		if len(to) == 0 {
			continue
		}
		messages := b.Messages(i)
		for first < len(groups)-1 && groups[first].Start+groups[first].Count <= lo {
			first++
		}
		if g := groups[first]; g.Start <= lo && lo+(1<<shift) <= g.Start+g.Count {
			p := &peers[x.place(first)]
			for _, slot := range to {
				p.positions = append(p.positions, slot-g.Start)
			}
			p.messages.Append(messages)
			continue
		}
		last := first
		for j, slot := range to {
			if slot < ghost {
				x.pick(here, slot, j)
				continue
			}
			q := first
			// below the start the difference wraps around
			for slot-groups[q].Start >= groups[q].Count {
				q++
			}
			x.pick(&peers[x.place(q)], slot-groups[q].Start, j)
			last = max(last, q)
		}
		here.take(messages)
		for q := first; q <= last; q++ {
			peers[x.place(q)].take(messages)
		}
	}
}

// reserve grows the buffers before the pairs of bins are copied. It counts a bin that spans several
// owners for the owner of the bin's first slots.
func (x *Exchange) reserve(groups []graph.Group, ghost uint32, b kernel.Pairs, peers []peer) {
	shift, to := b.Layout()
	i, last := int(ghost>>shift), len(groups)-1
	for q, g := range groups {
		n := 0
		for ; i < len(to) && (uint32(i)<<shift < g.Start+g.Count || q == last); i++ {
			n += len(to[i])
		}
		if n > 0 {
			p := &peers[x.place(q)]
			x.room(p, n)
		}
	}
}
