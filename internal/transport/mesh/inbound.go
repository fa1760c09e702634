package mesh

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// inbound is the connection from another worker: it receives frames and sends credits.
type inbound struct {
	mesh *Mesh
	conn net.Conn
	peer greeting

	memory bool // isMemory(conn)
	done   chan struct{}
	kick   chan struct{} // signalled when a credit is due

	mu        sync.Mutex
	err       error
	consumed  uint64 // bytes of chunks that have been taken, in total
	announced uint64
	due       map[laneKey]uint64 // credits to send for messages' windows
	window    uint64             // size of the window of frames, and of each tag's messages
	widened   bool               // the window grew, and this was not sent yet

	delay atomic.Int64 // round trip time in nanoseconds; 0: unknown

	from *intake
	// Used by the goroutine with from.turn only.
	chunks  chunkReader
	placing func(*header) ([]byte, error)
	header  header
	session *Session // the session of the last frame
	frame   incoming
	message *message // the message whose chunk is being read; nil if refused
	flow    flow
	clock   clock
}

// incoming is a frame that has arrived in part.
type incoming struct {
	identity
	arrival *arrival // nil if the frame is refused
	port    *Port
	worker  int
	have    uint64
}

func newInbound(m *Mesh, c net.Conn, peer greeting) *inbound {
	in := &inbound{
		mesh: m, conn: c, peer: peer, memory: isMemory(c), done: make(chan struct{}),
		kick: make(chan struct{}, 1), due: map[laneKey]uint64{},
		window: uint64(m.options.Window), from: newIntake(c, m.options.Silence, readAhead),
	}
	in.chunks = chunkReader{from: in.from, maxFrame: uint64(m.options.MaxFrame)}
	_, in.chunks.secure = c.(*secured)
	in.placing = func(h *header) ([]byte, error) {
		in.startClock(h, len(in.from.ahead))
		return in.place(h)
	}
	return in
}

// fail breaks the connection.
func (in *inbound) fail(err error) {
	if !errors.Is(err, transport.ErrClosed) {
		err = &BrokenError{in.peer.name, in.mesh.options.Name, err}
	}
	in.mu.Lock()
	if in.err != nil {
		in.mu.Unlock()
		return
	}
	in.err = err
	in.mu.Unlock()
	close(in.done)
	in.conn.Close()
	in.mesh.inBroke(in, err)
}

// readAhead is the number of bytes of headers and small payloads that are read at once.
const readAhead = 64 << 10

// run reads frames and writes credits until the connection ends.
func (in *inbound) run() {
	var group sync.WaitGroup
	group.Go(in.writeCredits)
	for ok := true; ok; {
		ok = in.next(in.from.wait())
		in.from.turn.Unlock()
	}
	group.Wait()
	in.narrow()
}

// next reads and handles a chunk, unless waiting for it failed. It returns false if the connection
// has ended. The caller has the turn.
func (in *inbound) next(err error) bool {
	if err == nil {
		err = in.chunks.next(&in.header, in.placing)
		in.stopClock(err == nil)
	}
	if err != nil {
		in.fail(silent(err, in.mesh.options.Silence))
		in.drop()
		in.from.ahead = nil
		return false
	}
	in.placed(&in.header)
	return true
}

// poll handles the whole chunks that one read returns. The rest is left to the next poll, or to the
// reading goroutine, which the rest has woken.
func (in *inbound) poll() {
	for read := true; in.from.poll(read); read = false {
		in.next(nil)
		in.from.turn.Unlock()
	}
}

// drop drops what has arrived of a frame. The rest is refused.
func (in *inbound) drop() {
	if f := &in.frame; f.arrival != nil {
		f.port.recycle(f.arrival)
		f.arrival = nil
	}
}

// place returns memory for a chunk's payload, or nil if the frame is refused.
func (in *inbound) place(h *header) ([]byte, error) {
	f := &in.frame
	switch {
	case h.kind == kindPing:
		return nil, nil
	case h.kind == kindMessage:
		return in.placeMessage(h)
	case h.offset == 0:
		in.drop() // the sender stopped in the middle because its session has ended
		*f = incoming{identity: h.identity}
		in.address(h)
	case f.identity != h.identity || f.have != h.offset:
		return nil, fmt.Errorf("%w: bytes at %d of a %v, after %d of a %v", errCorrupt, h.offset,
			&h.identity, f.have, &f.identity)
	}
	if f.arrival != nil && f.port.session.Err() != nil {
		in.drop()
	}
	if f.arrival == nil {
		return nil, nil
	}
	to, err := f.arrival.grow(cmp.Or(in.mesh.options.Budget, mem.Process()), &f.identity,
		int(f.have), int(h.length))
	if err != nil { // end only this session, which frees memory
		f.port.session.Fail(fmt.Errorf("a frame of partition %d to %d: %w", f.from, f.to, err))
		in.drop()
	}
	return to, nil
}

// placed handles a chunk after its payload was read to the memory from place.
func (in *inbound) placed(h *header) {
	size := uint64(headerSize) + uint64(h.length)
	count(&in.mesh.counters.BytesIn, uint64(headerSize+h.size()))
	in.flowed(headerSize + int(h.length))
	switch h.kind {
	case kindPing:
		return
	case kindMessage:
		in.placedMessage(h)
		return
	}
	f := &in.frame
	f.have += uint64(h.length)
	last := f.have == f.payload()
	if f.arrival == nil {
		in.consume(size)
	} else {
		f.port.arrived(in, f, size, last)
	}
	if last {
		count(&in.mesh.counters.FramesIn, 1)
		in.frame = incoming{}
	}
}

// address finds the partition that a frame is for. If the frame is refused it counts it, and leaves
// arrival nil.
func (in *inbound) address(h *header) {
	f, c := &in.frame, &in.mesh.counters
	s := in.attempt(h)
	if s == nil {
		return
	}
	n := uint32(len(s.layout.Owner))
	if h.from >= n || h.to >= n || s.ports[h.to] == nil {
		count(&c.Misrouted, 1)
		return
	}
	f.worker = s.layout.Owner[h.from]
	if !in.admits(s, f.worker, h) {
		return
	}
	p := s.ports[h.to]
	if !p.wants(h.superstep) {
		count(&c.StaleSuperstep, 1)
		return
	}
	f.port, f.arrival = p, p.newArrival(f.payload())
}

// attempt returns the session of a chunk. If it is not open, attempt counts that and returns nil.
func (in *inbound) attempt(h *header) *Session {
	c := &in.mesh.counters
	if h.incarnation != in.peer.incarnation {
		count(&c.StaleIncarnation, 1)
		return nil
	}
	s := in.session
	if s == nil || s.job != h.job || s.epoch != h.epoch || s.Err() != nil {
		if s = in.mesh.session(h.job, h.epoch); s == nil || s.Err() != nil {
			in.session = nil
			count(&c.StaleJob, 1)
			return nil
		}
		in.session = s
	}
	return s
}

// admits reports whether the connection belongs to a session's worker. If not, it counts the frame
// as misrouted or stale. It fails the session if the worker's frames arrive on another connection.
func (in *inbound) admits(s *Session, worker int, h *header) bool {
	c := &in.mesh.counters
	switch w := &s.layout.Workers[worker]; {
	case w.Name != in.peer.name:
		count(&c.Misrouted, 1)
		return false
	case w.Incarnation != h.incarnation:
		count(&c.StaleIncarnation, 1)
		return false
	}
	if err := s.bind(worker, in); err != nil {
		s.Fail(err)
		return false
	}
	return true
}

// placeMessage returns memory for a chunk of a message, or nil if the message is refused.
func (in *inbound) placeMessage(h *header) ([]byte, error) {
	in.message = nil
	s := in.attempt(h)
	if s == nil {
		return nil, nil
	}
	if n := uint32(len(s.layout.Workers)); h.from >= n || h.to != uint32(s.self) {
		count(&in.mesh.counters.Misrouted, 1)
		return nil, nil
	}
	if !in.admits(s, int(h.from), h) {
		return nil, nil
	}
	to, p, err := s.link.place(in, h)
	in.message = p
	return to, err
}

// placedMessage handles a chunk after its payload was read to the memory from placeMessage.
func (in *inbound) placedMessage(h *header) {
	if in.message == nil {
		return
	}
	if h.offset+uint64(h.length) == h.contents {
		count(&in.mesh.counters.MessagesIn, 1)
	}
	in.session.link.placed(in.message, h)
	in.message = nil
}

// grant adds room for a number of bytes to the window of a session's messages under a tag.
func (in *inbound) grant(k laneKey, bytes uint64) {
	in.mu.Lock()
	in.due[k] += bytes
	due := in.due[k] >= in.window/4 || len(in.due) > mostDue
	in.mu.Unlock()
	if due {
		signal(in.kick)
	}
}

// consume adds room for a number of bytes to the window of frames.
func (in *inbound) consume(bytes uint64) {
	in.mu.Lock()
	in.consumed += bytes
	due := in.consumed-in.announced >= in.window/4
	in.mu.Unlock()
	if due {
		signal(in.kick)
	}
}

// mostDue is the greatest number of lanes that wait for small credits to be sent.
const mostDue = 64

// writeCredits sends credits to the other side: at once if they are large, and from time to time as
// a sign of life.
func (in *inbound) writeCredits() {
	silence := in.mesh.options.Silence
	tick := time.NewTicker(silence / 4)
	defer tick.Stop()
	var b []byte
	for {
		select {
		case <-in.kick:
		case <-tick.C:
		case <-in.done:
			return
		}
		b = in.credits(b[:0])
		in.conn.SetWriteDeadline(time.Now().Add(silence))
		if _, err := in.conn.Write(b); err != nil {
			in.fail(silent(err, silence))
			return
		}
	}
}

// credits appends the credits to send.
func (in *inbound) credits(b []byte) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.widened {
		in.widened = false
		b = appendCredit(b, credit{magic: windowMagic, bytes: in.window})
	}
	in.announced = in.consumed
	b = appendCredit(b, credit{magic: creditMagic, bytes: in.consumed})
	for k, bytes := range in.due {
		b = appendCredit(b, credit{messageMagic, k, bytes})
	}
	clear(in.due)
	return b
}
