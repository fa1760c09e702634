// Package memlink connects ranks of one process by memory, for tests of code that uses a
// collective.Link.
package memlink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
)

// Memory connects ranks of one process. With costs, messages take the corresponding time on the
// clock of package time, so that tests can check predictions in the virtual time of
// testing/synctest:
//
//	          start           start+Gap+Alpha*n
//	sender      |====================|           busy
//	                  start+Beta          +Alpha*n
//	receiver              |===================|  busy, later if it still receives another message
//
// A receiver takes messages in the order in which their first bytes arrive, whether it waits for
// them or not, and Gap after the one before. If two sites share a trunk, a message starts when the trunk has taken the earlier
// ones.
type Memory struct {
	boxes []*mailbox
	cost  func(from, to int) Cost

	mu      sync.Mutex   // guards the fields below, which are used only with costs
	sending []time.Time  // when a rank can send again
	taking  []time.Time  // when a rank can take the next message
	coming  [][]*message // by receiver: messages not yet counted in taking
	trunks  map[[2]int]time.Time
}

// Cost is the cost of a message as in collective.Pair, in seconds and seconds per byte. Trunk, if
// not 0, is the time per byte on the link that all pairs from one site to another share.
type Cost struct {
	Alpha, Beta, Gap, Trunk float64
	Sites                   [2]int
}

// New connects n ranks. If cost is nil, messages take no time besides the copy.
func New(n int, cost func(from, to int) Cost) *Memory {
	m := &Memory{
		cost: cost, sending: make([]time.Time, n), taking: make([]time.Time, n),
		coming: make([][]*message, n),
		trunks: map[[2]int]time.Time{},
	}
	for range n {
		m.boxes = append(m.boxes, &mailbox{queues: map[address]*queue{}})
	}
	return m
}

// Size is the number of ranks.
func (m *Memory) Size() int { return len(m.boxes) }

// Link returns a rank's link to the others.
func (m *Memory) Link(rank int) Link { return Link{m, rank} }

// Left returns the number of a rank's queues with unreceived messages.
func (m *Memory) Left(rank int) int {
	b := m.boxes[rank]
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues)
}

// Link is a rank's link. It implements collective.Link.
type Link struct {
	memory *Memory
	rank   int
}

func (l Link) Rank() int { return l.rank }
func (l Link) Size() int { return len(l.memory.boxes) }

func (l Link) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	if err := l.check(ctx, to); err != nil {
		return err
	}
	p := &message{from: l.rank, data: slices.Clone(data)}
	done := l.memory.depart(l.rank, to, p)
	l.memory.boxes[to].put(address{l.rank, tag}, p)
	return waitUntil(ctx, done)
}

func (l Link) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
	if err := l.check(ctx, from); err != nil {
		return nil, err
	}
	p, err := l.memory.boxes[l.rank].take(ctx, address{from, tag})
	if err != nil {
		return nil, err
	}
	if err := waitUntil(ctx, p.first); err != nil {
		return nil, err
	}
	return p.data, waitUntil(ctx, l.memory.arrive(l.rank, p))
}

func (l Link) check(ctx context.Context, peer int) error {
	if peer < 0 || peer >= l.Size() || peer == l.rank {
		return fmt.Errorf("rank %d has no link to rank %d of %d", l.rank, peer, l.Size())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// depart records that a message leaves, and returns when the sender is free again.
func (m *Memory) depart(from, to int, p *message) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := float64(len(p.data))
	if m.cost == nil {
		return time.Time{}
	}
	c := m.cost(from, to)
	start := latest(time.Now(), m.sending[from])
	if c.Trunk > 0 {
		start = latest(start, m.trunks[c.Sites])
		m.trunks[c.Sites] = start.Add(seconds(c.Trunk * n))
	}
	p.first, p.body, p.gap = start.Add(seconds(c.Beta)), seconds(c.Alpha*n), seconds(c.Gap)
	m.coming[to] = append(m.coming[to], p)
	m.sending[from] = start.Add(seconds(c.Gap + c.Alpha*n))
	return m.sending[from]
}

// arrive returns when a message that has begun to arrive is complete.
func (m *Memory) arrive(rank int, p *message) time.Time {
	if m.cost == nil {
		return time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	coming := m.coming[rank]
	slices.SortStableFunc(coming, func(a, b *message) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.from, b.from))
	})
	now := time.Now()
	for len(coming) > 0 && !coming[0].first.After(now) {
		coming[0].whole = latest(coming[0].first, m.taking[rank]).Add(coming[0].body)
		m.taking[rank] = coming[0].whole.Add(coming[0].gap)
		coming = coming[1:]
	}
	m.coming[rank] = coming
	return p.whole
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func seconds(s float64) time.Duration { return time.Duration(s*1e9 + 0.5) }

// waitUntil returns at a time, or when ctx ends. The zero time is in the past.
func waitUntil(ctx context.Context, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	return parallel.Sleep(ctx, time.Until(t))
}

// address is the key of a queue.
type address struct {
	from int
	tag  uint32
}

// message is a message in flight: its first byte arrives at first, the transfer takes body, it is
// complete at whole, and then the receiver is busy for gap.
type message struct {
	from  int
	data  []byte
	first time.Time
	body  time.Duration
	gap   time.Duration
	whole time.Time
}

// mailbox has the messages that have arrived for a rank.
type mailbox struct {
	mu     sync.Mutex
	queues map[address]*queue
}

// queue has the messages under one address. It exists while it has messages or a receiver waits.
type queue struct {
	messages []*message
	more     chan struct{} // closed and renewed when a message arrives; nil while nobody waits
	waiting  int
}

func (b *mailbox) at(a address) *queue {
	q := b.queues[a]
	if q == nil {
		q = &queue{}
		b.queues[a] = q
	}
	return q
}

func (b *mailbox) put(a address, p *message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.at(a)
	q.messages = append(q.messages, p)
	if q.more != nil {
		close(q.more)
		q.more = nil
	}
}

func (b *mailbox) take(ctx context.Context, a address) (*message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.at(a)
	q.waiting++
	defer func() {
		q.waiting--
		if q.waiting == 0 && len(q.messages) == 0 {
			delete(b.queues, a)
		}
	}()
	for len(q.messages) == 0 {
		if q.more == nil {
			q.more = make(chan struct{})
		}
		more := q.more
		b.mu.Unlock()
		select {
		case <-more:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			return nil, context.Cause(ctx)
		}
	}
	p := q.messages[0]
	q.messages[0] = nil
	q.messages = q.messages[1:]
	return p, nil
}
