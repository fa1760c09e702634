package simulation

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one end of a connection.
type stream struct {
	net         *network
	near, far   string // names of the hosts
	local, away *net.TCPAddr
	peer        *stream

	mu       sync.Mutex
	in       []segment
	last     time.Time // arrival time of the last segment
	changed  chan struct{}
	err      error // set if it is broken
	closed   bool  // by this end
	deadline time.Time
}

// segment is data in flight. A segment without a time waits until a cut ends.
type segment struct {
	at   time.Time
	data []byte
	end  bool // the other end has closed
}

func newStream(n *network, near, far string, local, away *net.TCPAddr) *stream {
	return &stream{net: n, near: near, far: far, local: local, away: away, changed: make(chan struct{})}
}

func (s *stream) LocalAddr() net.Addr  { return s.local }
func (s *stream) RemoteAddr() net.Addr { return s.away }

// change wakes readers. The caller holds the lock.
func (s *stream) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) breaks(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.change()
	}
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		now := time.Now()
		until := s.deadline
		switch {
		case s.closed:
			s.mu.Unlock()
			return 0, net.ErrClosed
		case s.err != nil:
			s.mu.Unlock()
			return 0, &net.OpError{Op: "read", Net: "tcp", Addr: s.away, Err: s.err}
		case !s.deadline.IsZero() && !s.deadline.After(now):
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			s.mu.Unlock()
			return 0, nil
		}
		if len(s.in) > 0 && !s.in[0].at.IsZero() {
			if head := &s.in[0]; !head.at.After(now) {
				n := copy(p, head.data)
				ended := head.end
				if head.data = head.data[n:]; len(head.data) == 0 && !ended {
					s.in = s.in[1:]
				}
				s.mu.Unlock()
				if ended {
					return 0, io.EOF
				}
				return n, nil
			} else if until.IsZero() || head.at.Before(until) {
				until = head.at
			}
		}
		changed := s.changed
		s.mu.Unlock()
		expired, stop := timeout(until)
		select {
		case <-changed:
		case <-expired:
		}
		stop()
	}
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	err := s.err
	if s.closed {
		err = net.ErrClosed
	}
	s.mu.Unlock()
	if err != nil {
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: s.away, Err: err}
	}
	if len(p) > 0 {
		s.send(segment{data: append([]byte(nil), p...)})
	}
	return len(p), nil
}

// send sends a segment.
func (s *stream) send(g segment) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	at := time.Now().Add(s.net.wait())
	other := s.peer
	other.mu.Lock()
	defer other.mu.Unlock()
	waits := s.net.cuts[[2]string{s.near, s.far}] > 0 || len(other.in) > 0 &&
		other.in[len(other.in)-1].at.IsZero()
	if !waits {
		if at.Before(other.last) {
			at = other.last
		}
		g.at, other.last = at, at
	}
	if other.closed && !waits && !g.end { // the answer is a reset
		time.AfterFunc(s.net.delay, func() { s.breaks(syscall.ECONNRESET) })
	}
	other.in = append(other.in, g)
	other.change()
}

// release sets the arrival time of all waiting segments from this end. The caller holds the
// network's lock.
func (s *stream) release(at time.Time) {
	other := s.peer
	other.mu.Lock()
	defer other.mu.Unlock()
	for i := range other.in {
		if other.in[i].at.IsZero() {
			other.in[i].at, other.last = at, at
		}
	}
	other.change()
}

func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.closed = true
	broken := s.err != nil
	s.change()
	s.mu.Unlock()
	if !broken {
		s.send(segment{end: true})
	}
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.peer.mu.Lock()
	over := s.peer.closed
	s.peer.mu.Unlock()
	for _, end := range []*stream{s, s.peer} {
		if h := s.net.hosts[end.near]; over && h != nil {
			delete(h.conns, end)
		}
	}
	return nil
}

func (s *stream) SetDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.change()
	return nil
}

func (s *stream) SetReadDeadline(t time.Time) error { return s.SetDeadline(t) }

// SetWriteDeadline does nothing: a write never waits.
func (s *stream) SetWriteDeadline(time.Time) error { return nil }
