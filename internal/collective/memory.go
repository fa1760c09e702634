package collective

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory connects ranks of one process. With a model, messages take as long as the model says, on the clock of package
// time, so that tests can check predictions in the virtual time of testing/synctest:
//
//	          start           start+Gap+Alpha*n
//	sender      |====================|           busy
//	                  start+Beta          +Alpha*n
//	receiver              |===================|  busy, later if it still receives another message
//
// A receiver takes messages in the order in which their first bytes come, whether it waits for them or not.
// Where two sites share a trunk, a message starts when the trunk has taken those before it.
type Memory struct {
	boxes []*mailbox
	model *Model

	mu       sync.Mutex  // guards what follows, used only with a model
	sending  []time.Time // when a rank can send again
	taking   []time.Time // when a rank has all of what began to come
	coming   [][]*parcel // by receiver: what is not in taking yet
	trunks   map[[2]int]time.Time
	messages int
	bytes    int64
}

// NewMemory connects n ranks. model may be nil: messages then take no time but that of the copy.
func NewMemory(n int, model *Model) *Memory {
	m := &Memory{
		model: model, sending: make([]time.Time, n), taking: make([]time.Time, n), coming: make([][]*parcel, n),
		trunks: map[[2]int]time.Time{},
	}
	for range n {
		m.boxes = append(m.boxes, &mailbox{queues: map[address]*queue{}})
	}
	return m
}

// Link returns a rank's access.
func (m *Memory) Link(rank int) Link { return memoryLink{m, rank} }

// Traffic returns how many messages and bytes were sent so far.
func (m *Memory) Traffic() (messages int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.messages, m.bytes
}

type memoryLink struct {
	memory *Memory
	rank   int
}

func (l memoryLink) Rank() int { return l.rank }
func (l memoryLink) Size() int { return len(l.memory.boxes) }

func (l memoryLink) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	if err := l.check(ctx, to); err != nil {
		return err
	}
	p := &parcel{from: l.rank, data: slices.Clone(data)}
	done := l.memory.depart(l.rank, to, p)
	l.memory.boxes[to].put(address{l.rank, tag}, p)
	return waitUntil(ctx, done)
}

func (l memoryLink) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
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

func (l memoryLink) check(ctx context.Context, peer int) error {
	if peer < 0 || peer >= l.Size() || peer == l.rank {
		return fmt.Errorf("rank %d has no link to rank %d of %d", l.rank, peer, l.Size())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// depart books a message's way out and returns when the sender is free again.
func (m *Memory) depart(from, to int, p *parcel) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := float64(len(p.data))
	m.messages++
	m.bytes += int64(len(p.data))
	if m.model == nil {
		return time.Time{}
	}
	c := m.model.Pair(from, to)
	start := latest(time.Now(), m.sending[from])
	if a, b := m.model.site(from), m.model.site(to); a != b && m.model.Trunk > 0 {
		start = latest(start, m.trunks[[2]int{a, b}])
		m.trunks[[2]int{a, b}] = start.Add(seconds(m.model.Trunk * n))
	}
	p.first, p.body = start.Add(seconds(c.Beta)), seconds(c.Alpha*n)
	m.coming[to] = append(m.coming[to], p)
	m.sending[from] = start.Add(seconds(c.Gap + c.Alpha*n))
	return m.sending[from]
}

// arrive returns when a message that has begun to come is there whole.
func (m *Memory) arrive(rank int, p *parcel) time.Time {
	if m.model == nil {
		return time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	coming := m.coming[rank]
	slices.SortStableFunc(coming, func(a, b *parcel) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.from, b.from))
	})
	now := time.Now()
	for len(coming) > 0 && !coming[0].first.After(now) {
		m.taking[rank] = latest(coming[0].first, m.taking[rank]).Add(coming[0].body)
		coming[0].whole = m.taking[rank]
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

// waitUntil returns at a time, or when ctx ends; the zero time has passed.
func waitUntil(ctx context.Context, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	d := time.Until(t)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// address tells the messages of a box apart.
type address struct {
	from int
	tag  uint32
}

// parcel is a message on its way: its first byte comes at first, the others take body, all is there at whole.
type parcel struct {
	from  int
	data  []byte
	first time.Time
	body  time.Duration
	whole time.Time
}

// mailbox holds what has arrived for a rank.
type mailbox struct {
	mu     sync.Mutex
	queues map[address]*queue
}

// queue is the messages under one address. It exists while it holds some or somebody waits for some.
type queue struct {
	parcels []*parcel
	more    chan struct{} // closed and renewed when a parcel comes; nil while nobody waits
	waiting int
}

func (b *mailbox) at(a address) *queue {
	q := b.queues[a]
	if q == nil {
		q = &queue{}
		b.queues[a] = q
	}
	return q
}

func (b *mailbox) put(a address, p *parcel) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.at(a)
	q.parcels = append(q.parcels, p)
	if q.more != nil {
		close(q.more)
		q.more = nil
	}
}

func (b *mailbox) take(ctx context.Context, a address) (*parcel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.at(a)
	q.waiting++
	defer func() {
		q.waiting--
		if q.waiting == 0 && len(q.parcels) == 0 {
			delete(b.queues, a)
		}
	}()
	for len(q.parcels) == 0 {
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
	p := q.parcels[0]
	q.parcels[0] = nil
	q.parcels = q.parcels[1:]
	return p, nil
}
