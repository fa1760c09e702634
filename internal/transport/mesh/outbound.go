package mesh

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
)

// outbound is the connection to another worker: it sends frames and receives credits.
type outbound struct {
	mesh   *Mesh
	conn   net.Conn
	memory bool // isMemory(conn)
	peer   Peer
	// greatest payload of a chunk: at most half the first window, so that one can be sent while
	// another is taken
	chunk  int
	done   chan struct{}
	ready  chan struct{} // signalled when something is queued
	credit chan struct{} // signalled when credit arrives

	mu       sync.Mutex
	queue    []item // the frames to write, from next on
	next     int
	err      error
	sent     uint64    // total bytes of chunks
	consumed uint64    // total bytes that the other side has taken
	window   uint64    // bytes that may be in flight
	heard    time.Time // last sign of life of the other side
	late     bool      // the other side was once silent for long
	lanes    map[laneKey]*lane
	awaken   []*lane       // lanes with something that may be written
	spare    sync.Pool     // posts; of this connection, as simulations share no channels
	posted   chan struct{} // signalled when a lane is awake

	// Used by the writer only.
	writer     *writer
	compressor compressor
	item       item     // the frame being written
	staged     []staged // the chunks that the writer has collected
	header     header
	posting    header
	packed     []byte
	ping       *time.Ticker
}

// item is a frame to write.
type item struct {
	port  *Port
	frame transport.Frame
}

func newOutbound(m *Mesh, c net.Conn, p Peer, window uint64) *outbound {
	chunk := int(min(uint64(m.options.Chunk), window/2+1))
	return &outbound{
		mesh: m, conn: c, memory: isMemory(c), peer: p, window: window, chunk: chunk,
		heard: time.Now(),
		done:  make(chan struct{}), ready: make(chan struct{}, 1), credit: make(chan struct{}, 1),
		lanes: map[laneKey]*lane{}, posted: make(chan struct{}, 1),
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

// enqueue gives a frame to the writer.
func (o *outbound) enqueue(p *Port, f *transport.Frame) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	// under the lock, so that drop finds everything queued before
	if err := p.session.Err(); err != nil {
		return err
	}
	p.session.writing.Add(1)
	o.queue = append(o.queue, item{p, *f})
	signal(o.ready)
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take sets item to the next frame, if there is one.
func (o *outbound) take() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next == len(o.queue) {
		o.queue, o.next = o.queue[:0], 0
		return false
	}
	o.item, o.queue[o.next] = o.queue[o.next], item{}
	o.next++
	return true
}

// drop removes a session's frames, or all frames if s is nil, from the queue.
func (o *outbound) drop(s *Session) {
	o.mu.Lock()
	var dropped []item
	kept := o.queue[:0]
	for _, it := range o.queue[o.next:] {
		if s == nil || it.port.session == s {
			dropped = append(dropped, it)
		} else {
			kept = append(kept, it)
		}
	}
	clear(o.queue[len(kept):])
	o.queue, o.next = kept, 0
	o.dropLanes(s)
	o.mu.Unlock()
	for _, it := range dropped {
		it.port.written(it.frame.Superstep, 0, 0)
	}
}

// staged is a frame, or a chunk of a message, that the writer has collected.
type staged struct {
	port                   *Port
	superstep, to, encoded int
	lane                   *lane
	post                   *post
}

// write runs in the writing goroutine.
func (o *outbound) write() {
	o.ping = time.NewTicker(o.mesh.options.Silence / 4)
	defer o.ping.Stop()
	for {
		var err error
		switch {
		case o.take():
			s := staged{port: o.item.port, superstep: o.item.frame.Superstep, to: o.item.frame.To}
			s.encoded, err = o.writeFrame(&o.item)
			o.staged = append(o.staged, s)
		case len(o.staged) > 0:
			err = o.flush()
		default:
			err = o.pause(nil, o.ready)
		}
		if err != nil {
			o.fail(err)
			o.settle()
			o.drop(nil)
			return
		}
	}
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
		o.settle()
	}
	return err
}

// settle tells ports and senders that their frames and messages are written.
func (o *outbound) settle() {
	for i, s := range o.staged {
		if s.port != nil {
			s.port.written(s.superstep, s.to, s.encoded)
		} else {
			o.settlePost(s.lane, s.post)
		}
		o.staged[i] = staged{}
	}
	o.staged = o.staged[:0]
}

// pause waits for a signal, or for the end of a session if s is not nil. Meanwhile it writes
// messages and pings.
func (o *outbound) pause(s *Session, wanted <-chan struct{}) error {
	var over <-chan struct{}
	if s != nil {
		over = s.done
	}
	for {
		select {
		case <-wanted:
			return nil
		case <-over:
			return nil
		case <-o.done:
			return o.err
		case <-o.posted:
			wrote, err := o.writeMessage()
			if err == nil && wrote {
				signal(o.posted) // there may be more
			} else if err == nil {
				err = o.flush()
			}
			if err != nil {
				return err
			}
		case <-o.ping.C:
			h := header{identity: identity{kind: kindPing, incarnation: o.mesh.options.Incarnation}}
			if err := o.stage(&h, nil, nil); err != nil {
				return err
			}
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
}

// writeFrame writes a frame chunk by chunk. It returns the size of its values if the codec encoded
// them, else 0. It stops between chunks if the session ends; the other side drops the frame.
func (o *outbound) writeFrame(it *item) (int, error) {
	f, s, h := &it.frame, it.port.session, &o.header
	*h = header{identity: identity{
		kind: uint8(f.Kind), encoding: f.Encoding, job: s.job,
		incarnation: o.mesh.options.Incarnation, epoch: s.epoch,
		superstep: uint32(f.Superstep), from: uint32(f.From), to: uint32(f.To),
		count: uint64(f.Count), presence: uint64(len(f.Presence)),
	}}
	values, encoded := f.Raw, 0
	if f.Ref != nil {
		if failed, err := o.encode(s.codec, f); failed != nil || err != nil {
			if failed != nil {
				s.Fail(failed)
			}
			return 0, err
		}
		values, encoded, h.form = o.packed, len(o.packed), formPacked
	}
	h.contents = uint64(len(values))
	if h.payload() > uint64(o.mesh.options.MaxFrame) {
		s.Fail(fmt.Errorf("a frame of %d bytes: the limit is %d", h.payload(),
			o.mesh.options.MaxFrame))
		return 0, nil
	}
	for first := true; first || h.offset < h.payload(); first = false {
		if ok, err := o.room(s); err != nil || !ok {
			return 0, err
		}
		n := min(uint64(o.chunk), h.payload()-h.offset)
		end := h.offset + n
		a := f.Presence[min(h.offset, h.presence):min(end, h.presence)]
		b := values[max(h.offset, h.presence)-h.presence : max(end, h.presence)-h.presence]
		h.length = uint32(n)
		o.mu.Lock()
		o.sent += uint64(cost(int(n)))
		o.mu.Unlock()
		if err := o.stage(h, a, b); err != nil {
			return 0, err
		}
		if _, err := o.writeMessage(); err != nil { // a long frame must not block messages
			return 0, err
		}
		h.offset = end
	}
	count(&o.mesh.counters.FramesOut, 1)
	return encoded, nil
}

// encode encodes the frame's values, and pings meanwhile, however long it takes. It returns the
// codec's error and the connection's error.
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
	err = o.pause(nil, done)
	<-done
	return failed, err
}
