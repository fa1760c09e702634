package delivery

import (
	"context"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// Uncombined sends pushed messages one by one, as Ueno13's naive delivery does. bins hold pairs of
// destination slot and message; those for owned slots, below ghost, go to the sink directly, while
// the others are on their way. s is the receivers' side.
func (x *Exchange) Uncombined(
	ctx context.Context, s *graph.Side, ghost uint32, bins []kernel.Pairs, sink Sink,
	reversed bool,
) error {
	kind, peers := x.folding(reversed)
	for i := range peers {
		x.clear(&peers[i])
	}
	here := &peers[x.place(x.part.Index)]
	for _, b := range bins {
		x.reserve(s.Groups, ghost, b, peers)
	}
	for _, b := range bins {
		x.deal(s.Groups, ghost, b, peers)
	}
	own := func() {
		for _, b := range bins {
			shift, to := b.Layout()
			for i := range int(ghost >> shift) {
				sink(to[i], b.Messages(i))
			}
		}
		sink(here.positions, here.messages)
	}
	if len(s.Line) == 0 {
		own()
		return nil
	}
	last := s.Line[len(s.Line)-1]
	return x.trade(ctx, s.Line, kind, len(s.Line), func(q int) error {
		err := x.sendPairs(&peers[x.place(q)], q, kind)
		if q == last && err == nil {
			own()
		}
		return err
	}, func(in *transport.Frame) error {
		list := s.Peers.Of(in.From)
		to, messages, err := x.pairs(in, list.Count())
		if err != nil {
			return err
		}
		sink(x.placed(&list, to), messages)
		return nil
	})
}

// fewPairs is the share of a list's members from which pairs on it unpack the list, rather than
// look their members up one by one.
const fewPairs = 16

// placed returns the members of a list at positions.
func (x *Exchange) placed(list *bitmap.List, positions []uint32) []uint32 {
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

// deal deals the pairs of bins to the buffers of the partitions that they go to, and leaves bins of
// owned slots alone. A bin lies as a rule in the slots of one partition, and is copied as it is; a
// slot's owner is looked for only in bins that a border cuts, among those that share the bin.
func (x *Exchange) deal(groups []graph.Group, ghost uint32, b kernel.Pairs, peers []peer) {
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

// reserve makes room for the pairs of bins, where there is not enough, before they are copied. A
// bin that a border cuts is taken for that of its first slots' owner.
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
