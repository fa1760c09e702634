package delivery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// link is an endpoint that stores sent frames. It delivers one frame of one kind, and another frame
// for all other kinds.
type link struct {
	forger
	kind  transport.Kind
	other transport.Frame
	sent  []*transport.Frame
}

// empty returns a frame without pairs.
func empty(to, from int) transport.Frame {
	return transport.Frame{To: to, From: from, Superstep: 3, Encoding: uint8(Pairs)}
}

func (l *link) Send(f *transport.Frame) error {
	l.sent = append(l.sent, f)
	return nil
}

func (l *link) Receive(_ context.Context, kind transport.Kind) (*transport.Frame, error) {
	if kind != l.kind {
		return &l.other, nil
	}
	return &l.frame, nil
}

// arrived is the result of receiving a frame: the slots or local vertices that got something,
// sorted.
type arrived struct {
	slots []uint32
	limit int // all slots must be below it
}

// traffic is an exchange of one kind between partitions of a graph. Partition 0 receives.
type traffic[M any] struct {
	name   string
	kind   transport.Kind
	g      *graph.Graph
	values bool
	pairs  int // bytes of a pair's receiver, or 0 for a column
	list   func(from int) int
	// send makes an exchange send something. take makes partition 0 receive it.
	send func(rng *rand.Rand, x *Exchange, p *graph.Partition) error
	take func(x *Exchange, p *graph.Partition) (arrived, error)
}

// kindOf makes messages of a type.
type kindOf[M any] struct {
	combiner pregel.Combiner[M]
	make     func(h uint64) M
}

// combining is a Combiner that calls a function.
type combining[M any] func(a, b M) M

func (f combining[M]) Combine(keys []uint64, from, to kernel.Column, positions []uint32) []uint32 {
	messages, combined := kernel.Elements[M](from), to.(*kernel.Vec[M])
	for i, key := range keys {
		receiver, m := uint32(key>>32), messages[uint32(key)]
		if i > 0 && receiver == uint32(keys[i-1]>>32) {
			last := &combined.Data[len(combined.Data)-1]
			*last = f(*last, m)
			continue
		}
		positions, combined.Data = append(positions, receiver), append(combined.Data, m)
	}
	return positions
}

func (k kindOf[M]) kernel(p *graph.Partition) kernel.Kernel[M] {
	l := p.Layout(pregel.Out)
	kernel, err := k.combiner.Kernel(kernel.Binding{Sources: l.Slots, Capacity: l.Count})
	if err != nil {
		panic(err)
	}
	return kernel
}

// box returns an inbox with a message for each of the slots.
func (k kindOf[M]) box(p *graph.Partition, slots []uint32) *kernel.Inbox[M] {
	n := p.Layout(pregel.Out).Count
	box := &kernel.Inbox[M]{Msg: make([]M, n), Has: bitmap.NewFrontier(make([]uint64, n/64))}
	for _, s := range slots {
		box.Has.Add(s)
		box.Msg[s] = k.make(uint64(s))
	}
	return box
}

func ones(words []uint64) (all []uint32) {
	bitmap.Each(words, func(i uint32) { all = append(all, i) })
	return all
}

// some chooses each of n numbers with probability 1/one, and at least one number.
func some(rng *rand.Rand, n, one int) []uint32 {
	if n == 0 {
		return nil
	}
	chosen := []uint32{uint32(rng.IntN(n))}
	for i := range uint32(n) {
		if rng.IntN(one) == 0 {
			chosen = append(chosen, i)
		}
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// exchanges returns exchanges with all kinds of frames, for a graph in two partitions or in a 2 x 2
// grid.
func exchanges[M any](g *graph.Graph, k kindOf[M]) []traffic[M] {
	ctx := context.Background()
	block := func(p *graph.Partition) *graph.Block { return p.Layout(pregel.Out).Blocks[0].Pull }
	pushed := func(p *graph.Partition) *graph.Block { return p.Layout(pregel.Out).Blocks[0].Push }
	outboxes := func(rng *rand.Rand, p *graph.Partition, senders bool) []kernel.Sends {
		o := kernel.NewOutbox[M](p.Deal, senders)
		for to := range o.To {
			for _, local := range some(rng, g.Parts[to].Owned, 3) {
				o.To[to], o.Msg[to] = append(o.To[to], local),
					append(o.Msg[to], k.make(rng.Uint64()))
				o.From[to] = append(o.From[to], uint64(p.Global(local%uint32(p.Owned))))
			}
		}
		return []kernel.Sends{o}
	}
	// gather calls f with a sink that collects the receivers.
	gather := func(p *graph.Partition, f func(Sink) error) (arrived, error) {
		a := arrived{limit: p.Owned}
		err := f(func(to []uint32, messages kernel.Column) {
			if n := len(kernel.Elements[M](messages)); len(to) != n {
				panic(fmt.Sprintf("%d messages to %d vertices", n, len(to)))
			}
			a.slots = append(a.slots, to...)
		})
		return a, err
	}
	nothing := func(p *graph.Partition, senders bool) []kernel.Sends {
		return []kernel.Sends{kernel.NewOutbox[M](p.Deal, senders)}
	}
	drop := func([]uint32, kernel.Column) {}
	all := []traffic[M]{
		{
			name: "expand", kind: transport.Expand, values: true,
			list: func(from int) int { return int(block(g.Parts[0]).Senders.Groups[from].Count) },
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				kernel, f := k.kernel(p),
					bitmap.NewFrontier(make([]uint64, p.Layout(pregel.Out).Count/64))
				for _, s := range some(rng, p.Owned, 2+rng.IntN(40)) {
					f.Add(s)
				}
				kernel.Swap()
				_, err := x.Expand(ctx, block(p).Senders, kernel, f, 0, 0, nil)
				return err
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				n := p.Layout(pregel.Out).Count
				f := bitmap.NewFrontier(make([]uint64, n/64))
				_, err := x.Expand(ctx, block(p).Senders, k.kernel(p), f, 0, 0, nil)
				group := block(p).Senders.Groups[block(p).Senders.Line[0]]
				return arrived{ones(f.Words), int(group.Start + group.Count)}, err
			},
		},
		{
			name: "fold", kind: transport.Fold, values: true,
			list: func(from int) int {
				list := pushed(g.Parts[0]).Receivers.Peers.Of(from)
				return list.Count()
			},
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				group := pushed(p).Receivers.Groups[0]
				slots := some(rng, int(group.Count), 2+rng.IntN(40))
				for i := range slots {
					slots[i] += group.Start
				}
				box := k.box(p, slots)
				erased := Inbox{&kernel.Vec[M]{Data: box.Msg}, box.Has}
				return x.Fold(ctx, pushed(p).Receivers, erased, drop, 0, nil)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				box, folding := k.box(p, nil), k.kernel(p)
				none := Inbox{
					&kernel.Vec[M]{Data: make([]M, len(box.Msg))},
					bitmap.NewFrontier(make([]uint64, len(box.Has.Words))),
				}
				err := x.Fold(ctx, pushed(p).Receivers, none,
					func(to []uint32, messages kernel.Column) {
						folding.Fold(to, kernel.Elements[M](messages), box)
					}, 0, nil)
				return arrived{ones(box.Has.Words), p.Owned}, err
			},
		},
		{
			name: "uncombined", kind: transport.Fold, values: true, pairs: 4,
			list: func(from int) int {
				list := pushed(g.Parts[0]).Receivers.Peers.Of(from)
				return list.Count()
			},
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				l := p.Layout(pregel.Out)
				bins := kernel.NewBins[M](l.Count, 6)
				group := pushed(p).Receivers.Groups[0]
				for _, i := range some(rng, int(group.Count), 2) {
					for range 1 + rng.IntN(2) {
						at := (group.Start + i) >> 6
						bins.To[at], bins.Msg[at] = append(bins.To[at], group.Start+i),
							append(bins.Msg[at], k.make(uint64(i)))
					}
				}
				all := []kernel.Pairs{bins}
				return x.Uncombined(ctx, pushed(p).Receivers, l.Slots.Ghost, all, drop, 0)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				return gather(p, func(sink Sink) error {
					return x.Uncombined(ctx, pushed(p).Receivers, p.Layout(pregel.Out).Slots.Ghost,
						nil, sink, 0)
				})
			},
		},
		{
			name: "sends", kind: transport.Sends, values: true, pairs: 4,
			list: func(int) int {
				if c := g.Options.Grid.Columns; c > 1 {
					return c * (g.Parts[0].Owned + 1)
				}
				return g.Parts[0].Owned
			},
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				return x.Send(ctx, outboxes(rng, p, false), nil, drop)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				a, err := gather(p, func(sink Sink) error {
					return x.Send(ctx, nothing(p, false), nil, sink)
				})
				if err == nil && !p.Grid.Flat() { // the sink gets no messages to others of the row
					other := x.end.(*link).sent[len(x.end.(*link).sent)-1]
					a.slots = append(a.slots, make([]uint32, other.Count)...)
				}
				return a, err
			},
		},
	}
	if g.Options.Grid.Flat() {
		return append(all, traffic[M]{
			name: "sends in order", kind: transport.Sends, values: true, pairs: joinBytes,
			list: func(int) int { return g.Parts[0].Owned },
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				return x.SendInOrder(ctx, outboxes(rng, p, true), drop)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				return gather(p, func(sink Sink) error {
					return x.SendInOrder(ctx, nothing(p, true), sink)
				})
			},
		})
	}
	return append(
		all,
		traffic[M]{
			name: "sends on", kind: transport.SendsOn, values: true, pairs: 4,
			list: func(int) int { return g.Parts[0].Owned },
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				combine := combining[M](k.combiner.Combine)
				return x.Send(ctx, outboxes(rng, p, false), combine, drop)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				return gather(p, func(sink Sink) error {
					return x.Send(ctx, nothing(p, false), nil, sink)
				})
			},
		},
		traffic[M]{
			name: "finished", kind: transport.Finished,
			list: func(from int) int { return int(block(g.Parts[0]).Receivers.Groups[from].Count) },
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				fresh := bitmap.NewFrontier(make([]uint64, p.Words()))
				for _, s := range some(rng, p.Owned, 2+rng.IntN(40)) {
					fresh.Add(s)
				}
				return x.Finished(ctx, block(p).Receivers, fresh,
					make([]uint64, p.Layout(pregel.Out).Count/64), 0)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				finished := make([]uint64, p.Layout(pregel.Out).Count/64)
				err := x.Finished(ctx, block(p).Receivers,
					bitmap.NewFrontier(make([]uint64, p.Words())), finished, 0)
				group := block(p).Receivers.Groups[block(p).Receivers.Line[0]]
				return arrived{ones(finished), int(group.Start + group.Count)}, err
			},
		},
		traffic[M]{
			name: "ring", kind: transport.Ring,
			list: func(from int) int { return 64 * (g.Parts[from].Words() - 1) },
			send: func(rng *rand.Rand, x *Exchange, p *graph.Partition) error {
				if !slices.Contains(p.Row, 0) {
					return nil
				}
				t := Token{Owner: p.Index, First: 1, Open: make([]uint64, p.Words()-1)}
				for _, s := range some(rng, p.Owned-64, 2+rng.IntN(40)) {
					bitmap.Set(t.Open, s)
				}
				return x.SendToken(ctx, 0, &t, 0)
			},
			take: func(x *Exchange, p *graph.Partition) (arrived, error) {
				var t Token
				_, err := x.ReceiveToken(ctx, block(p).Receivers, &t, 0)
				if err != nil {
					return arrived{}, err
				}
				return arrived{ones(t.Open), 64 * (g.Parts[t.Owner].Words() - t.First)}, nil
			},
		},
	)
}

// seed returns a frame with some values that partition 0 accepts.
func (tr *traffic[M]) seed(t testing.TB, rng *rand.Rand, force Encoding) transport.Frame {
	t.Helper()
	for i := range 20 * (len(tr.g.Parts) - 1) {
		p := tr.g.Parts[1+i%(len(tr.g.Parts)-1)]
		x, l := tr.exchange(p, force)
		l.kind, l.other = noKind, empty(p.Index, p.Column[0])
		_ = tr.send(rng, x, p) // it fails if an empty frame of pairs is not allowed
		for _, f := range l.sent {
			if f.To == 0 && f.Kind == tr.kind && f.Count > 1 {
				return copied(f)
			}
		}
	}
	t.Fatalf("%s: nobody sends partition 0 anything", tr.name)
	return transport.Frame{}
}

const noKind = transport.Kind(transport.Kinds)

func copied(f *transport.Frame) transport.Frame {
	c := *f
	c.Presence, c.Raw = slices.Clone(f.Presence), slices.Clone(f.Raw)
	if ref, ok := f.Ref.([]string); ok {
		c.Ref = slices.Clone(ref)
	}
	return c
}

func (tr *traffic[M]) exchange(p *graph.Partition, force Encoding) (*Exchange, *link) {
	x, l := NewExchange(p, new(kernel.Vec[M]), Experiment{Encoding: force}), new(link)
	x.Begin(3)
	gate := make(chan struct{}, 1)
	gate <- struct{}{}
	x.Connect(l, gate)
	return x, l
}

// give makes partition 0 receive a frame.
func (tr *traffic[M]) give(f transport.Frame) (arrived, error) {
	p := tr.g.Parts[0]
	x, l := tr.exchange(p, Auto)
	l.kind, l.frame, l.other = tr.kind, f, empty(0, p.Column[0])
	if tr.kind == transport.Sends && len(p.Row) > 0 {
		l.other.From = p.Row[0]
	}
	return tr.take(x, p)
}

// said sets the frame's count, and gives the frame that number of values.
func (tr *traffic[M]) said(f *transport.Frame, n int) {
	f.Count = n
	switch {
	case !tr.values:
	case f.Ref != nil:
		f.Ref = make([]M, n)
	default:
		f.Raw = make([]byte, 4*n)
	}
}
