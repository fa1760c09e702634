package mesh

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// readBuffer is how much is read at once; larger payloads are read into their place.
const readBuffer = 16 << 10

// inbound is another worker's connection to this one: frames come in, credits go out.
type inbound struct {
	mesh *Mesh
	conn net.Conn
	peer greeting
	done chan struct{}
	kick chan struct{} // a credit is due

	mu        sync.Mutex
	err       error
	consumed  uint64 // bytes of chunks there is room for again
	announced uint64

	// The reader's own.
	session *Session // of the last frame
	frame   incoming
}

// incoming is a frame that has come in part.
type incoming struct {
	identity
	arrival *arrival // nil if the frame is refused
	port    *Port
	worker  int
	have    uint64
}

func newInbound(m *Mesh, c net.Conn, peer greeting) *inbound {
	return &inbound{mesh: m, conn: c, peer: peer, done: make(chan struct{}), kick: make(chan struct{}, 1)}
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

// patient is a connection whose reads wait only so long each.
type patient struct {
	net.Conn
	limit time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(p.limit))
	return p.Conn.Read(b)
}

// run reads frames and writes credits until the connection ends.
func (in *inbound) run() {
	var group sync.WaitGroup
	group.Go(in.writeCredits)
	limit := in.mesh.options.Silence
	r := chunkReader{from: bufio.NewReaderSize(patient{in.conn, limit}, readBuffer), maxFrame: uint64(in.mesh.options.MaxFrame)}
	place, h := in.place, new(header)
	for {
		if err := r.next(h, place); err != nil {
			in.fail(silent(err, limit))
			break
		}
		in.placed(h)
	}
	in.drop()
	group.Wait()
}

// drop forgets a frame that came in part.
func (in *inbound) drop() {
	if f := &in.frame; f.arrival != nil {
		f.port.recycle(f.arrival)
	}
	in.frame = incoming{}
}

// place returns where a chunk's payload goes: nil if the frame is refused.
func (in *inbound) place(h *header) ([]byte, error) {
	f := &in.frame
	switch {
	case h.kind == kindPing:
		return nil, nil
	case h.offset == 0:
		in.drop() // the sender stopped in the middle of it: its session has ended
		f.identity = h.identity
		in.address(h)
	case f.identity != h.identity || f.have != h.offset:
		return nil, fmt.Errorf("%w: bytes at %d of a %v, after %d of a %v", errCorrupt, h.offset, &h.identity, f.have, &f.identity)
	}
	if f.arrival != nil && f.port.session.Err() != nil {
		f.port.recycle(f.arrival)
		f.arrival = nil
	}
	if f.arrival == nil {
		return nil, nil
	}
	return f.arrival.grow(&f.identity, int(f.have), int(h.length)), nil
}

// placed takes note of a chunk whose payload is where place said.
func (in *inbound) placed(h *header) {
	size := uint64(headerSize) + uint64(h.length)
	in.mesh.counters.bytesIn.Add(size)
	if h.kind == kindPing {
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
		in.mesh.counters.framesIn.Add(1)
		in.frame = incoming{}
	}
}

// address finds the partition a frame is for. It leaves arrival nil, and counts, if the frame is not to be had.
func (in *inbound) address(h *header) {
	f, c := &in.frame, &in.mesh.counters
	if h.incarnation != in.peer.incarnation {
		c.staleIncarnation.Add(1)
		return
	}
	s := in.session
	if s == nil || s.job != h.job || s.epoch != h.epoch || s.Err() != nil {
		if s = in.mesh.session(h.job, h.epoch); s == nil || s.Err() != nil {
			in.session = nil
			c.staleJob.Add(1)
			return
		}
		in.session = s
	}
	n := uint32(len(s.layout.Owner))
	if h.from >= n || h.to >= n || s.ports[h.to] == nil || s.layout.worker(h.from).Name != in.peer.name {
		c.misrouted.Add(1)
		return
	}
	f.worker = s.layout.Owner[h.from]
	if s.layout.Workers[f.worker].Incarnation != h.incarnation {
		c.staleIncarnation.Add(1)
		return
	}
	if err := s.bind(f.worker, in); err != nil {
		s.fail(err)
		return
	}
	p := s.ports[h.to]
	if !p.wants(h.superstep) {
		c.staleSuperstep.Add(1)
		return
	}
	f.port, f.arrival = p, p.newArrival(f.payload())
}

// consume says that there is room for so many bytes more.
func (in *inbound) consume(bytes uint64) {
	in.mu.Lock()
	in.consumed += bytes
	due := in.consumed-in.announced >= uint64(in.mesh.options.Window)/4
	in.mu.Unlock()
	if due {
		signal(in.kick)
	}
}

// writeCredits tells the other side what room there is: soon when it is much, and now and then as a sign of life.
func (in *inbound) writeCredits() {
	silence := in.mesh.options.Silence
	tick := time.NewTicker(silence / 4)
	defer tick.Stop()
	b := make([]byte, creditSize)
	for {
		select {
		case <-in.kick:
		case <-tick.C:
		case <-in.done:
			return
		}
		in.mu.Lock()
		in.announced = in.consumed
		putCredit(b, in.consumed)
		in.mu.Unlock()
		in.conn.SetWriteDeadline(time.Now().Add(silence))
		if _, err := in.conn.Write(b); err != nil {
			in.fail(silent(err, silence))
			return
		}
	}
}
