package pregel

import (
	"math/bits"
	"time"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// lane implements kernel.Lane: it runs a program for one goroutine in one partition.
type lane[V, M any] struct {
	Block  Block[V, M]
	of     *instance[V, M]
	cursor Vertex[V, M]
	goroutine
	outbox  *kernel.Outbox[M]
	bins    *kernel.Bins[M]
	few     kernel.Inbox[M] // the inbox and the lane's messages in a superstep with few messages
	in, out [64]M
	toIn    [64]M // as out, but for messages to in-neighbours

	messages []M      // of a list program: the messages to the vertices of a word, see offsets
	_        [64]byte // padding: goroutines share no cache line
}

// goroutine is the part of a lane that does not depend on V and M.
type goroutine struct {
	own     partition // Block and cursor point to it
	batch   kernel.Batch
	wrong   int  // see sweepSelf
	running bool // true while the program runs
	keeps   bool // see outbox.KeepSenders
	watched bool // see type watched

	offsets            [65]int
	last               time.Time // when the last word of a list program ended
	gathering, program time.Duration
}

func (g *goroutine) State() *kernel.State { return &g.own.state }
func (g *goroutine) Batch() *kernel.Batch { return &g.batch }
func (g *goroutine) KeepsSenders() bool   { return g.keeps }

func (g *goroutine) BeginLists() { g.last = time.Now() }
func (g *goroutine) EndLists()   { g.gathering += time.Since(g.last) }

func (g *goroutine) ListTimes() (gathering, running float64) {
	gathering, running = g.gathering.Seconds(), g.program.Seconds()
	g.gathering, g.program = 0, 0
	return gathering, running
}

// endWord adds the times of a word of a list program: gathering until gathered, the program since.
func (g *goroutine) endWord(gathered time.Time) {
	now := time.Now()
	g.gathering, g.program = g.gathering+gathered.Sub(g.last), g.program+now.Sub(gathered)
	g.last = now
}

func (i *instance[V, M]) NewLane(
	label func(VertexID) uint64, s kernel.State, requests *kernel.Requests,
) erasedLane {
	l := &lane[V, M]{of: i, goroutine: goroutine{own: partition{label: label, state: s}}}
	traits := i.ways[0].kernel.Traits()
	l.keeps = i.single && traits.Ordered
	l.outbox = kernel.NewOutbox[M](s.Deal, l.keeps)
	l.outbox.Store = i.store
	l.Block.partition, l.Block.outbox, l.Block.In = &l.own, l.outbox, &l.in
	l.Block.Stride = VertexID(i.ids.Stride)
	if i.combiner != nil && !traits.Each {
		l.Block.combine = i.combiner.Combine
	}
	l.cursor.partition = &l.own
	l.Block.change.v = &l.cursor.cursor
	if requests != nil {
		b := &l.Block
		l.own.changes = &changes{
			Requests: requests, of: None, outDegrees: &b.OutDegrees, inDegrees: &b.InDegrees,
		}
	}
	return l
}

func (l *lane[V, M]) Equip() {
	l.bins, l.outbox.Lift = nil, nil
	lifter, lifts := l.of.ways[0].kernel.(kernel.Lifter[M])
	normalize, one := l.of.normalize, new([64]M)
	if !lifts && normalize == nil {
		return
	}
	l.outbox.Lift = func(from uint64, m M) (M, bool) {
		if lifts {
			m = lifter.Lift(from, m)
		}
		if normalize == nil {
			return m, true
		}
		one[0] = m
		sent := normalize(1, one)
		return one[0], sent != 0
	}
}

func (l *lane[V, M]) Reset() {
	l.running = false
	if l.bins != nil {
		l.bins.Reset() // left over from an interrupted run
	}
	l.outbox.Reset()
	l.ResetRequests()
}

func (l *lane[V, M]) ResetRequests() {
	if c := l.own.changes; c != nil {
		c.List = c.List[:0] // keep the array
	}
	clear(l.Block.change.added.Data)
	l.Block.change.added.Truncate(0)
}

func (l *lane[V, M]) Interrupted() (running bool, at VertexID) {
	running, at = l.running, None
	if running && l.cursor.b != nil {
		at = l.cursor.id
	}
	l.running, l.cursor.b = false, nil
	return running, at
}

func (l *lane[V, M]) PullOne(
	w int, need, open, active uint64,
) (run, received, sent, halted, finished uint64, walked int) {
	i := l.of
	if need != 0 {
		p := &i.pulls[0]
		received, walked = i.ways[p.Way].kernel.Pull(p.Pull, w, need, 0, &l.in)
	}
	if run = (received | active) & open; run != 0 {
		l.Block.In = &l.in
		sent, halted, finished = l.run(w, run, received, active)
	}
	return run, received, sent, halted, finished, walked
}

func (l *lane[V, M]) Pull(
	w int, open, active uint64,
) (run, received, sent, halted, finished uint64, walked int) {
	i, in := l.of, &l.in
	if i.takeInbox {
		if received = i.inbox.Has.Words[w] & open; received != 0 {
			*in = [64]M(i.inbox.Msg[w<<6:])
		}
	}
	if i.tiled != nil {
		if received = i.tiled[w] & open; received != 0 {
			*in = *i.sumsOf(w)
		}
	}
	for k := range i.pulls {
		p := &i.pulls[k]
		need := open & p.Bits[w]
		if i.anyOne {
			need &^= received
		}
		if need != 0 {
			var edges int
			received, edges = i.ways[p.Way].kernel.Pull(p.Pull, w, need, received, in)
			walked += edges
		}
	}
	if run = (received | active) & open; run != 0 {
		l.Block.In = in
		sent, halted, finished = l.run(w, run, received, active)
	}
	return run, received, sent, halted, finished, walked
}

// run calls the program for the vertices run of word w, whose messages are in l.Block.In. It stores
// the messages that they sent to all neighbours.
func (l *lane[V, M]) run(w int, run, received, active uint64) (sent, halted, finished uint64) {
	b, i := &l.Block, l.of
	l.window(w, run, active)
	b.Received = received
	l.running = true
	switch {
	case i.block != nil && !i.single:
		i.block.ComputeBlock(b)
	case i.self:
		if k := l.sweepSelf(i.program, i.identity); k >= 0 {
			panic(kernel.WrongSender{Vertex: uint64(b.ID(k))})
		}
	case l.watched:
		l.sweep(watched[V, M]{i.program}, i.identity)
	default:
		l.sweep(i.program, i.identity)
	}
	l.running = false
	return l.drain(w, i.self)
}

// window points the block at word w.
func (l *lane[V, M]) window(w int, run, active uint64) {
	b, i := &l.Block, l.of
	b.Run, b.Awake, b.Received, b.Sent, b.Halt, b.Finish = run, active&run, 0, 0, 0, 0
	b.Values = (*[64]V)(i.values.Data[w<<6:])
	b.OutDegrees = (*[64]uint32)(i.out[w<<6:])
	b.InDegrees = (*[64]uint32)(i.in[w<<6:])
	l.own.base = uint32(w << 6)
	b.First = VertexID(i.ids.ID(l.own.base))
	b.Out = i.ways[0].kernel.Window(w, &l.out)
	if len(i.ways) > 1 {
		b.back = back[M]{out: i.ways[1].kernel.Window(w, &l.toIn)}
	}
}

// drain stores the messages that the vertices of word w sent. If stored is true the kernel already
// has the messages to all neighbours.
func (l *lane[V, M]) drain(w int, stored bool) (sent, halted, finished uint64) {
	b := &l.Block
	if sent = l.normalize(b.Sent & b.Run); b.watch != nil {
		l.watchAll(sent, b.Out)
		l.watchAll(l.SentBack(), b.back.out)
	}
	if stored {
		l.Store(w, 0, l.SentBack())
	} else {
		l.Store(w, sent, l.SentBack())
	}
	return sent, b.Halt & b.Run, b.Finish & b.Run
}

// normalize brings the block's messages to all neighbours into the combiner's form. It returns the
// bits of sent whose messages are to be delivered. It does the same for messages to in-neighbours,
// whose bits SentBack returns.
func (l *lane[V, M]) normalize(sent uint64) uint64 {
	normalize, b := l.of.normalize, &l.Block
	if normalize == nil {
		return sent
	}
	if b.back.sent &= b.Run; b.back.sent != 0 {
		b.back.sent = normalize(b.back.sent, b.back.out)
	}
	return normalize(sent, b.Out)
}

func (l *lane[V, M]) Store(w int, sent, toIn uint64) {
	if sent != 0 {
		l.storeWay(0, w, sent, l.Block.Out)
	}
	if toIn != 0 {
		l.storeWay(1, w, toIn, l.Block.back.out)
	}
}

func (l *lane[V, M]) storeWay(way, w int, sent uint64, out *[64]M) {
	if k := l.of.ways[way].kernel.Store(w, sent, out); k >= 0 {
		panic(kernel.WrongSender{Vertex: uint64(l.Block.ID(k))})
	}
}

func (l *lane[V, M]) SentBack() uint64 { return l.Block.back.sent & l.Block.Run }

func (l *lane[V, M]) Start(w int, run uint64) (sent, halted, finished uint64) {
	i := l.of
	if i.init == nil && i.list == nil {
		l.Block.In = &l.in
		return l.run(w, run, 0, run)
	}
	l.window(w, run, run)
	block := i.initBlock != nil && !i.single
	l.running = true
	switch {
	case block:
		i.initBlock.InitBlock(&l.Block)
	case i.init != nil:
		init := i.init.Init
		if l.watched {
			init = watchedInit(init)
		}
		l.sweepInit(init)
	default:
		l.offsets, l.messages = [65]int{}, l.messages[:0]
		l.sweepLists(l.listProgram())
	}
	l.running = false
	return l.drain(w, block && i.self)
}

func (l *lane[V, M]) Resend(w int, run, active uint64) (sent, toIn uint64) {
	l.window(w, run, active)
	l.running = true
	l.sweepInit(l.of.resend.Resend)
	l.running = false
	return l.normalize(l.Block.Sent), l.Block.back.sent
}

func (l *lane[V, M]) Sweep(n int) {
	b, i := &l.batch, l.of
	var at [64]uint32
	for k, w := range b.Words[:n] {
		at[k] = uint32(w)<<6 + uint32(bits.TrailingZeros64(b.Run[k]))
	}
	i.values.Touch(at[:n])
	i.view.Touch(at[:n])
	for k := range n {
		w := int(b.Words[k])
		l.Block.In = (*[64]M)(i.inbox.Msg[w<<6:])
		b.Sent[k], b.Halted[k], b.Finished[k] = l.run(w, b.Run[k], b.Received[k], b.Active[k])
		b.Back[k] = l.SentBack()
	}
}

func (l *lane[V, M]) TryPull(p *kernel.Pull, w int) (walked int) {
	i := l.of
	if g := i.ways[0].gather; g != nil {
		if len(i.pulls) == 0 || i.pulls[0].Pull != p {
			clear(g.Read) // else all reads hit the zero page of memory never written, in the cache
			i.pulls = []kernel.ColumnPull{{Pull: p}}
		}
		_, walked = l.gather(w, ^uint64(0), true)
		return walked
	}
	_, walked = i.ways[0].kernel.Pull(p, w, ^uint64(0), 0, &l.in)
	return walked
}

func (l *lane[V, M]) PullInto(p kernel.ColumnPull, w int, need uint64) (walked int) {
	i := l.of
	has := i.inbox.Has.Words[w]
	found, walked := i.ways[p.Way].kernel.Pull(p.Pull, w, need, has, (*[64]M)(i.inbox.Msg[w<<6:]))
	if found != has {
		i.inbox.Has.Words[w] = found
		i.inbox.Has.MarkShared(w)
	}
	return walked
}

func (l *lane[V, M]) Push(p *kernel.Push, way int, rows []kernel.Row) {
	into := &l.of.inbox
	if p.Listing {
		l.few.Msg, l.few.Has = into.Msg, into.Has
		into = &l.few
	}
	l.of.ways[way].kernel.Push(p, rows, into)
}

func (l *lane[V, M]) Claim(p *kernel.Push, way int, rows []kernel.Row) {
	l.of.ways[way].claimer.Claim(p, rows, &l.of.inbox)
}

func (l *lane[V, M]) Emit(p *kernel.Push, way int, rows []kernel.Row) {
	l.of.ways[way].kernel.Emit(p, rows, l.bins)
}

func (l *lane[V, M]) Pairs(shift uint) kernel.Pairs {
	if l.bins == nil {
		if shift == 0 {
			return nil
		}
		l.bins = kernel.NewBins[M](l.of.slots, shift)
		l.bins.Store = l.of.store
	}
	return l.bins
}

func (l *lane[V, M]) Reserve(counts []int) {
	b := l.bins
	for k, n := range counts {
		b.To[k] = mem.Grow(b.Store, b.To[k], n)
		b.Msg[k] = mem.Grow(b.Store, b.Msg[k], n)
	}
}

func (l *lane[V, M]) AddTile(t *kernel.Tile, w int) { l.of.ways[0].adder.AddTile(t, w) }

func (l *lane[V, M]) Sends() kernel.Sends { return l.outbox }
func (l *lane[V, M]) ResetSends()         { l.outbox.Reset() }

func (l *lane[V, M]) Settle() int {
	l.outbox.Settle()
	return l.outbox.Count
}

func (l *lane[V, M]) AddSend(owner int, local uint32, from uint64, messages kernel.Column, i int) {
	l.outbox.Put(owner, local, from, kernel.Elements[M](messages)[i])
}

func (l *lane[V, M]) AddedValues() kernel.Column { return &l.Block.change.added }
