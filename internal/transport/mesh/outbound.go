package mesh

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
)

// outbound is the connection to another worker: it sends frames and messages, and receives credits.
type outbound struct {
	mesh   *Mesh
	conn   net.Conn
	memory bool // isMemory(conn)
	peer   Peer
	// greatest payload of a chunk: at most half the first window, so that one can be sent while
	// another is taken
	chunk int
	done  chan struct{}
	ready chan struct{} // signalled when a lane has something that may be written

	mu       sync.Mutex
	err      error
	frames   lane      // of all sessions
	sent     uint64    // total bytes of chunks of frames
	consumed uint64    // total bytes of them that the other side has taken
	window   uint64    // bytes that may be in flight
	heard    time.Time // last sign of life of the other side
	late     bool      // the other side was once silent for long
	lanes    map[laneKey]*lane
	awaken   []*lane   // lanes with something that may be written
	spare    sync.Pool // posts; of this connection, as simulations share no channels
	waiter   *Session  // whose frame waits for credit; nil: none
	waited   uint64    // the value of sent since then
	since    time.Time // when it began to wait

	// turn is held by the goroutine that writes, and guards the fields below: mostly by the writing
	// goroutine, which releases it while it waits.
	turn       sync.Mutex
	writer     *writer
	compressor compressor
	staged     []*post // one for each chunk that the writer has collected
	packed     []byte  // the values of the current frame, if the codec encoded them
	ping       *time.Ticker
}

func newOutbound(m *Mesh, c net.Conn, p Peer, window uint64) *outbound {
	chunk := int(min(uint64(m.options.Chunk), window/2+1))
	return &outbound{
		mesh: m, conn: c, memory: isMemory(c), peer: p, window: window, chunk: chunk,
		heard: time.Now(), frames: lane{credit: int64(window)},
		done: make(chan struct{}), ready: make(chan struct{}, 1), lanes: map[laneKey]*lane{},
		writer:     newWriter(c, m.options.Silence, &m.counters.BytesOut),
		compressor: newCompressor(m.options.Compress, c, chunk),
	}
}

func (o *outbound) live() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil
}

// fail breaks the connection.
func (o *outbound) fail(err error) {
	if !errors.Is(err, transport.ErrClosed) {
		err = &BrokenError{o.mesh.options.Name, o.peer.Name, err}
	}
	o.mu.Lock()
	if o.err != nil {
		o.mu.Unlock()
		return
	}
	o.err = err
	o.mu.Unlock()
	close(o.done)
	o.conn.Close()
	o.mesh.outBroke(o, err)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write runs in the writing goroutine.
func (o *outbound) write() {
	o.ping = time.NewTicker(o.mesh.options.Silence / 4)
	defer o.ping.Stop()
	o.turn.Lock()
	defer o.turn.Unlock()
	o.fail(o.serve(nil))
	o.settle(o.staged)
	o.drop(nil)
}

// serve writes chunks and pings until a channel is closed, or until the connection ends.
func (o *outbound) serve(until <-chan struct{}) (err error) {
	for err == nil {
		select {
		case <-until:
			return nil
		default:
		}
		if p := o.take(math.MaxInt); p != nil {
			err = o.writeChunk(p)
		} else if len(o.staged) > 0 {
			err = o.flush()
		} else {
			o.turn.Unlock()
			ping := false
			select {
			case <-o.ready:
			case <-o.ping.C:
				ping = true
			case <-o.done:
				err = o.err
			case <-until:
			}
			if o.turn.Lock(); ping {
				h := header{identity: identity{
					kind: kindPing, incarnation: o.mesh.options.Incarnation,
				}}
				if err = o.stage(&h, nil, nil); err == nil {
					err = o.flush()
				}
			}
		}
	}
	return err
}

// writeNow writes a short post on the caller's goroutine, if nothing else waits and the connection
// accepts it at once. Otherwise it wakes the writing goroutine. With small messages, the change to
// another goroutine, and mostly to another thread, would take longer than the write.
func (o *outbound) writeNow() {
	if o.writer.raw != nil && o.turn.TryLock() {
		defer o.turn.Unlock()
		if len(o.staged) == 0 && o.live() { // the writing goroutine runs, and settles the rest
			p := o.take(small)
			if p != nil && o.writeChunk(p) == nil && o.writer.try() {
				o.staged = o.settle(o.staged)
				return
			}
		}
	}
	signal(o.ready)
}

// stage gives a chunk to the writer, compressed if that is faster.
func (o *outbound) stage(h *header, a, b []byte) error {
	n := len(a) + len(b)
	wanted := o.compressor.wants(h.kind, n)
	if o.writer.full() || wanted && !o.compressor.room(n) {
		if err := o.flush(); err != nil {
			return err
		}
	}
	h.packed = 0
	if wanted {
		if packed := o.compressor.compress(h.kind, a, b); packed != nil {
			h.packed, a, b = uint32(len(packed)), packed, nil
			count(&o.mesh.counters.CompressedFrom, n)
			count(&o.mesh.counters.CompressedTo, len(packed))
		}
	}
	o.writer.add(h, a, b)
	return nil
}

// flush writes what was staged.
func (o *outbound) flush() error {
	n, began := o.writer.bytes, time.Now()
	err := o.writer.flush()
	if err == nil {
		o.compressor.wrote(n, time.Since(began))
		o.staged = o.settle(o.staged)
	}
	return err
}

// settle records that a chunk of each post was written, or will not be. It returns the empty list.
// It fails a session whose frame has waited for credit for too long. It runs at least once for each
// ping.
func (o *outbound) settle(posts []*post) []*post {
	o.mu.Lock()
	ended := slices.DeleteFunc(posts, func(p *post) bool { return !o.settled(p) })
	stalled := o.stalled()
	o.mu.Unlock()
	if stalled != nil {
		stalled.Fail(fmt.Errorf("worker %s has made no room for frames of worker %s for %v",
			o.peer.Name, o.mesh.options.Name, o.mesh.options.Stall))
	}
	for i, p := range ended {
		o.end(p)
		ended[i] = nil
	}
	return ended[:0]
}

// stalled returns the session of the first frame if it has waited for credit for too long,
// otherwise nil. The time begins again when a chunk of a frame is cut, and when the first frame is
// another session's. The caller holds the lock.
func (o *outbound) stalled() *Session {
	if len(o.frames.posts) == 0 || o.frames.credit > 0 {
		o.waiter = nil
		return nil
	}
	if s := o.frames.posts[0].session; s != o.waiter || o.sent != o.waited {
		o.waiter, o.waited, o.since = s, o.sent, time.Now()
	}
	if time.Since(o.since) < o.mesh.options.Stall {
		return nil
	}
	return o.waiter
}

// writeChunk writes the next chunk of a post.
func (o *outbound) writeChunk(p *post) error {
	var err error
	if p.port != nil && p.header.offset == 0 {
		err = o.prepare(p)
	}
	if h, a, b, ok := o.cut(p, err != nil); ok {
		err = o.stage(&h, a, b)
	} else if err == nil {
		o.settle([]*post{p}) // it needs no flush
		return nil
	}
	o.staged = append(o.staged, p)
	return err
}

// prepare encodes a frame's values, if they have no raw form. It fails the session if it cannot.
func (o *outbound) prepare(p *post) error {
	s, h := p.session, &p.header
	if p.frame != nil && s.Err() == nil {
		failed, err := o.encode(s.codec, p.frame)
		if err != nil {
			return err
		}
		if failed != nil {
			s.Fail(failed)
		}
		p.values, p.encoded = o.packed, len(o.packed)
		h.contents, h.form = uint64(p.encoded), formPacked
	}
	if h.payload() > uint64(o.mesh.options.MaxFrame) {
		s.Fail(fmt.Errorf("a frame of %d bytes: the limit is %d", h.payload(),
			o.mesh.options.MaxFrame))
	}
	return nil
}

// drop removes a session's frames and lanes, or all if s is nil. Senders of messages that wait
// notice the session's end themselves.
func (o *outbound) drop(s *Session) {
	var dropped []*post
	drops := func(p *post) bool {
		if s != nil && p.session != s {
			return false
		}
		if p.gone = p.gone || p.port != nil; p.staged > 0 || p.port == nil && !p.copied {
			return false
		}
		dropped = append(dropped, p)
		return true
	}
	o.mu.Lock()
	o.frames.posts = slices.DeleteFunc(o.frames.posts, drops)
	o.awake(&o.frames)
	for k, l := range o.lanes {
		if s == nil || l.session == s {
			delete(o.lanes, k)
			l.posts = slices.DeleteFunc(l.posts, drops)
		}
	}
	o.mu.Unlock()
	for _, p := range dropped {
		o.end(p)
	}
}

// encode encodes a frame's values, and writes messages and pings meanwhile, however long it takes.
// It returns the codec's error and the connection's error.
func (o *outbound) encode(c transport.Codec, f *transport.Frame) (failed, err error) {
	if err := o.flush(); err != nil { // packed may belong to a staged frame
		return nil, err
	}
	if cap(o.packed) > maxChunk {
		o.packed = nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended := parallel.Contain(func() { o.packed, failed = c.Append(o.packed[:0], f) })
		if ended != nil { // a panic of the program's code
			failed = fmt.Errorf("panic: %v", ended.Value)
		}
		if failed != nil {
			failed = fmt.Errorf("encoding messages: %w", failed)
		}
	}()
	err = o.serve(done)
	<-done
	return failed, err
}
