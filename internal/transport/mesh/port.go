package mesh

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/transport"
)

// Port is a partition's access to the other partitions. It implements transport.Endpoint. Only one
// goroutine may call its methods.
type Port struct {
	session *Session
	index   int
	past    int           // supersteps of earlier runs, see Session.Endpoint
	near    bool          // nothing is sent ahead
	wake    chan struct{} // signalled when a frame arrives
	wrote   chan struct{} // signalled when frames are written

	mu      sync.Mutex
	waiting bool     // frames take no window: the partition waits
	over    bool     // frames never take a window again: the session has ended
	held    []uint64 // bytes of windows that this partition's frames take, by worker
	floor   uint32   // the first superstep that has not ended
	boxes   [transport.Kinds][]*arrival
	taken   []*arrival // not released yet
	free    []*arrival // with buffers
	bare    []*arrival // without buffers
	// number of unwritten frames, by the last bit of their superstep: the current one, or the next
	pending [2]int
	limit   int // of pending
	ledger  transport.Ledger
}

func newPort(s *Session, i int) *Port {
	n := len(s.layout.Owner)
	return &Port{
		session: s, index: i, wake: make(chan struct{}, 1), wrote: make(chan struct{}, 1),
		held: make([]uint64, len(s.layout.Workers)), limit: 2 * n * transport.Kinds,
		ledger: transport.NewLedger(i, n),
	}
}

// Send sends a frame to the partition in f.To, without waiting for it. The frame's buffers must not
// change until End returns. Send waits only if very many frames are unwritten, because the
// partition sends on and on without ending a superstep.
func (p *Port) Send(f *transport.Frame) error {
	s := p.session
	if f.From != p.index || f.To < 0 || f.To >= len(s.ports) || int(f.Kind) >= transport.Kinds {
		return fmt.Errorf("partition %d cannot send a %s frame from partition %d to %d of %d",
			p.index, kindName(uint8(f.Kind)), f.From, f.To, len(s.ports))
	}
	if err := s.Err(); err != nil {
		return err
	}
	if err := faults.At(faults.Sending, s.mesh.options.Name); err != nil {
		return err
	}
	to := s.ports[f.To]
	if to == nil && f.Ref != nil && s.codec == nil {
		return fmt.Errorf("messages of type %T have no raw form, and no codec was given", f.Ref)
	}
	p.Claim(f)
	f.Superstep += p.past
	if to != nil {
		to.deliver(f)
		return nil
	}
	for !p.reserve(f) {
		// the writer's deadlines bound this
		if err := p.drain(context.Background(), p.limit/2); err != nil {
			return err
		}
	}
	return p.enqueue(f)
}

// reserve counts an unwritten frame. It returns false if there are too many.
func (p *Port) reserve(f *transport.Frame) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[0]+p.pending[1] >= p.limit {
		return false
	}
	p.pending[f.Superstep&1]++
	return true
}

// enqueue gives a frame, which is already pending, to the writer of its connection.
func (p *Port) enqueue(f *transport.Frame) error {
	err := p.session.outs[p.session.layout.Owner[f.To]].enqueue(p, f)
	if err != nil {
		p.mu.Lock()
		p.pending[f.Superstep&1]--
		p.mu.Unlock()
	}
	return err
}

// deliver puts a frame from the same worker into the box.
func (p *Port) deliver(f *transport.Frame) {
	p.mu.Lock()
	a := p.newBare()
	a.local = f
	p.boxes[f.Kind] = append(p.boxes[f.Kind], a)
	p.mu.Unlock()
	signal(p.wake)
}

// newBare returns an empty arrival without a buffer. The caller holds the lock.
func (p *Port) newBare() *arrival {
	n := len(p.bare)
	if n == 0 {
		return new(arrival)
	}
	a := p.bare[n-1]
	p.bare = p.bare[:n-1]
	return a
}

// written records that a frame's buffers are no longer needed, and the size of its encoded values.
func (p *Port) written(superstep, to, encoded int) {
	p.mu.Lock()
	p.pending[superstep&1]--
	p.ledger.Sent[to].Bytes += uint64(encoded)
	p.mu.Unlock()
	signal(p.wrote)
	p.session.writing.Done()
}

// Poll returns a frame of an exchange that has arrived, or nil.
func (p *Port) Poll(kind transport.Kind) (*transport.Frame, error) {
	p.mu.Lock()
	a := p.take(kind)
	p.mu.Unlock()
	if a == nil {
		return nil, nil
	}
	return p.open(a)
}

// take removes and returns an arrived frame, or nil. The caller holds the lock.
func (p *Port) take(kind transport.Kind) *arrival {
	box := p.boxes[kind]
	first := slices.IndexFunc(box, p.due)
	if first < 0 {
		return nil
	}
	a := box[first]
	p.boxes[kind] = slices.Delete(box, first, first+1)
	p.waiting = false
	p.credit(a)
	p.taken = append(p.taken, a)
	return a
}

// due reports whether a frame belongs to the current superstep: other partitions may send frames
// for the next.
func (p *Port) due(a *arrival) bool {
	return a.local != nil || uint32(a.frame.Superstep) != p.floor+1
}

// Receive returns the next frame of an exchange. It belongs to the caller until Release or End.
func (p *Port) Receive(ctx context.Context, kind transport.Kind) (*transport.Frame, error) {
	for {
		p.mu.Lock()
		if a := p.take(kind); a != nil {
			p.mu.Unlock()
			return p.open(a)
		}
		p.wait()
		p.mu.Unlock()
		if err := p.session.pause(ctx, p.wake); err != nil {
			return nil, err
		}
	}
}

// open returns an arrived frame after decoding its values.
func (p *Port) open(a *arrival) (*transport.Frame, error) {
	f, bytes := &a.frame, 0
	if a.local != nil {
		f = a.local
	}
	if a.packed != nil {
		if p.session.codec == nil {
			return nil,
				fmt.Errorf("from partition %d: values without a raw form, and no codec was given",
					f.From)
		}
		if err := p.session.codec.Decode(a.packed, f); err != nil {
			return nil, fmt.Errorf("from partition %d: decoding messages: %w", f.From, err)
		}
		bytes = len(a.packed)
	}
	f.Superstep -= p.past
	// Only this goroutine uses it.
	p.ledger.Received[f.From].Add(f.Count, len(f.Presence)+len(f.Raw)+bytes)
	return f, nil
}

// wait gives back the window that arrived frames for this partition take. Until waiting is reset,
// frames that arrive take none either. The caller holds the lock.
func (p *Port) wait() {
	p.waiting = true
	for w, bytes := range p.held {
		if bytes > 0 {
			p.held[w] = 0
			p.session.inbound(w).consume(bytes)
		}
	}
}

// end is wait for ever: it frees the window that the session's frames take.
func (p *Port) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wait()
}

// credit gives back the window that a frame takes, if it still takes it. The caller holds the lock.
func (p *Port) credit(a *arrival) {
	if a.local != nil {
		return
	}
	if n := min(a.size, p.held[a.worker]); n > 0 {
		p.held[a.worker] -= n
		a.inb.consume(n)
	}
}

// drain waits until at most most frames are unwritten.
func (p *Port) drain(ctx context.Context, most int) error {
	return p.drained(ctx, func() bool { return p.pending[0]+p.pending[1] <= most })
}

// drained waits until enough returns true. It calls enough with the lock held.
func (p *Port) drained(ctx context.Context, enough func() bool) error {
	for {
		p.mu.Lock()
		if enough() {
			p.waiting = false
			p.mu.Unlock()
			return p.session.Err() // frames that could not be sent are not pending either
		}
		p.wait()
		p.mu.Unlock()
		if err := p.session.pause(ctx, p.wrote); err != nil {
			return err
		}
	}
}

// Flush waits until all frames of this partition are written.
func (p *Port) Flush(ctx context.Context) error { return p.drain(ctx, 0) }

// wants reports whether a superstep has not ended.
func (p *Port) wants(superstep uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return superstep >= p.floor
}

// newArrival returns an empty arrival for a payload of a number of bytes. It reuses a buffer: the
// smallest that is large enough, or the largest.
func (p *Port) newArrival(bytes uint64) *arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	if bytes == 0 {
		return p.newBare()
	}
	bytes += 8 // for the shift
	best := -1
	for i, a := range p.free {
		if best < 0 {
			best = i
			continue
		}
		size, other := uint64(cap(a.buffer)), uint64(cap(p.free[best].buffer))
		if size >= bytes && (other < bytes || size <= other) || size < bytes && size > other {
			best = i // of equal ones take the last freed: it may still be in the cache
		}
	}
	if best < 0 {
		return p.newBare()
	}
	a := p.free[best]
	p.free[best] = p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return a
}

// arrived handles a chunk of a frame, which may be the last.
func (p *Port) arrived(in *inbound, f *incoming, size uint64, last bool) {
	a := f.arrival
	a.size += size
	a.inb, a.worker = in, f.worker
	if last {
		a.complete(&f.identity)
	}
	p.mu.Lock()
	if p.waiting || p.over {
		in.consume(size)
	} else {
		p.held[f.worker] += size
	}
	if last {
		p.boxes[f.kind] = append(p.boxes[f.kind], a)
	}
	p.mu.Unlock()
	if last {
		signal(p.wake)
	}
}

// recycle keeps an arrival's buffer for reuse.
func (p *Port) recycle(a *arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(a)
}

func (p *Port) release(a *arrival) {
	*a = arrival{buffer: a.buffer, memory: a.memory}
	if cap(a.buffer) == 0 {
		p.bare = append(p.bare, a)
	} else {
		p.free = append(p.free, a)
	}
}

// Release takes back a frame that Receive returned, before the end of the superstep, so that its
// buffer can be reused.
func (p *Port) Release(f *transport.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.taken {
		if &a.frame == f || a.local == f {
			p.taken = slices.Delete(p.taken, i, i+1)
			p.release(a)
			return
		}
	}
}

// End ends a superstep. It waits until all frames of this partition are written, releases received
// frames, and returns the account of what was sent and received, which the master compares. From
// then on frames of this and earlier supersteps are refused. The account is valid until the next
// End.
func (p *Port) End(ctx context.Context, superstep int) (*transport.Account, error) {
	now := superstep + p.past
	if err := p.drained(ctx, func() bool { return p.pending[now&1] == 0 }); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floor = uint32(now) + 1
	for _, a := range p.taken {
		p.release(a)
	}
	p.taken = p.taken[:0]
	for kind, box := range p.boxes {
		p.boxes[kind] = slices.DeleteFunc(box, p.late)
	}
	// frames sent ahead must not block those that other partitions of this worker wait for
	p.wait()
	return p.ledger.Close(superstep), nil
}

// late drops a frame of an ended superstep that nobody received.
func (p *Port) late(a *arrival) bool {
	f := &a.frame
	if a.local != nil {
		f = a.local
	}
	if uint32(f.Superstep) >= p.floor {
		return false
	}
	count(&p.session.mesh.counters.StaleSuperstep, 1)
	p.credit(a)
	p.release(a)
	return true
}
