package mesh

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Link is a worker's access to the other workers of a session. It implements collective.Link. Its
// rank is the worker's index in the layout. Messages are bytes under a tag. They are cut into
// chunks, between which chunks of other messages may be sent.
//
// Messages that nobody waits for yet take up to one window for each sender and tag; then the sender
// waits. A message that a receiver waits for takes no window, whatever its size. So memory is
// bounded by the awaited messages and one window per tag, and messages under one tag do not block
// other tags.
type Link struct {
	session *Session

	mu    sync.Mutex
	boxes map[address]*box
	free  [][]byte // memory of released messages
	turn  int      // index in free of the next to replace
}

// mostFree is the number of messages whose memory a link keeps. Each has at most sudden bytes.
const mostFree = 8

// address is the key of a box.
type address struct {
	from int
	tag  uint32
}

// box has the messages of one sender under one tag. It exists only while it has messages or a
// receiver waits.
type box struct {
	messages []*message // in order; the last may be incomplete
	waiting  int        // number of waiting receivers
	wake     chan struct{}
}

// message is a message that has arrived, at least in part.
type message struct {
	in    *inbound
	data  []byte // up to the end of the chunk that is being read
	total uint64
	held  uint64 // bytes of the window that it takes
	ended bool   // its last chunk has arrived
}

// Link returns the session's link.
func (s *Session) Link() *Link { return s.link }

// Rank returns this worker's number, and Size the number of workers.
func (l *Link) Rank() int { return l.session.self }
func (l *Link) Size() int { return len(l.session.layout.Workers) }

// Send sends a message to another worker. It returns when data may be changed. If it fails in the
// middle of a message, no other message can be sent to that worker under the tag.
func (l *Link) Send(ctx context.Context, to int, tag uint32, data []byte) error {
	if err := l.check(ctx, to); err != nil {
		return err
	}
	if most := l.session.mesh.options.MaxFrame; int64(len(data)) > most {
		return fmt.Errorf("a message of %d bytes: the limit is %d", len(data), most)
	}
	return l.session.outs[to].post(ctx, l.session, to, tag, data)
}

// Receive returns the next message of a worker under a tag. The message belongs to the caller.
func (l *Link) Receive(ctx context.Context, from int, tag uint32) ([]byte, error) {
	if err := l.check(ctx, from); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := address{from, tag}
	b := l.box(a)
	b.waiting++
	defer func() {
		b.waiting--
		if b.waiting == 0 && len(b.messages) == 0 && l.boxes[a] == b {
			delete(l.boxes, a)
		}
	}()
	for {
		if b.waiting <= len(b.messages) {
			l.claim(b.messages[b.waiting-1], tag)
		}
		if len(b.messages) > 0 && b.messages[0].ended {
			p := b.messages[0]
			b.messages = slices.Delete(b.messages, 0, 1)
			l.claim(p, tag)
			if len(b.messages) > 0 && b.waiting > 1 {
				signal(b.wake) // another receiver waits too
			}
			return p.data, nil
		}
		l.mu.Unlock()
		err := l.session.pause(ctx, b.wake)
		l.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

func (l *Link) check(ctx context.Context, peer int) error {
	if peer < 0 || peer >= l.Size() || peer == l.Rank() {
		return fmt.Errorf("rank %d has no link to rank %d of %d", l.Rank(), peer, l.Size())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// box finds or makes a box. The caller holds the lock.
func (l *Link) box(a address) *box {
	b := l.boxes[a]
	if b == nil {
		b = &box{wake: make(chan struct{}, 1)}
		l.boxes[a] = b
	}
	return b
}

// claim gives back the window that a message takes. The caller holds the lock.
func (l *Link) claim(p *message, tag uint32) {
	if p.held > 0 {
		p.in.grant(laneKey{key{l.session.job, l.session.epoch}, tag}, p.held)
		p.held = 0
	}
}

// Release takes back the memory of a received message for reuse: large messages arrive faster in
// memory that was written before.
func (l *Link) Release(data []byte) {
	if cap(data) < small || cap(data) > sudden {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) < mostFree {
		l.free = append(l.free, data[:0])
	} else {
		l.free[l.turn%mostFree] = data[:0]
		l.turn++
	}
}

// memory returns memory for a new message: released memory that is not much too large, or nil.
func (l *Link) memory(total uint64) []byte {
	for i, b := range l.free {
		if n := uint64(cap(b)); n >= total && n/4 <= total {
			l.free = slices.Delete(l.free, i, i+1)
			return b
		}
	}
	return nil
}

// place returns memory for a chunk of a message, and the message.
func (l *Link) place(in *inbound, h *header) ([]byte, *message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.box(address{int(h.from), h.superstep})
	var p *message
	if n := len(b.messages); n > 0 && !b.messages[n-1].ended {
		p = b.messages[n-1]
	}
	switch {
	case p == nil && h.offset == 0:
		p = &message{in: in, total: h.contents, data: l.memory(h.contents)}
		b.messages = append(b.messages, p)
	case p == nil || uint64(len(p.data)) != h.offset || p.total != h.contents:
		return nil, nil,
			fmt.Errorf("%w: found bytes at %d of %d of a message under tag %d, expected the next",
				errCorrupt, h.offset, h.contents, h.superstep)
	}
	return p.grow(int(h.length)), p, nil
}

// grow makes room for n more bytes and returns it. A long message gets the memory that its header
// asks for only after enough of it has arrived.
func (p *message) grow(n int) []byte {
	have := len(p.data)
	if need := have + n; need > cap(p.data) {
		size := int(p.total)
		if have < sudden {
			size = min(size, max(sudden, need))
		}
		larger := make([]byte, need, size)
		copy(larger, p.data)
		p.data = larger
	}
	p.data = p.data[:have+n]
	return p.data[have:]
}

// placed handles a chunk that has arrived.
func (l *Link) placed(p *message, h *header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := address{int(h.from), h.superstep}
	b := l.box(a)
	p.held += uint64(cost(int(h.length)))
	if i := slices.Index(b.messages, p); i >= 0 && i < b.waiting {
		l.claim(p, h.superstep)
	}
	if p.ended = uint64(len(p.data)) == p.total; p.ended {
		signal(b.wake)
	}
}
