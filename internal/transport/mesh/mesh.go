// Package mesh carries frames between the partitions of several workers, over TCP.
//
//	Port.Send -> queue -> writer ==connection==> reader -> box -> Port.Receive
//	                        ^                       |
//	                        +------- credits -------+
//
// There is one connection for each ordered pair of workers. It is made when a [Session] that needs
// it is opened, and kept until the mesh is closed or the connection breaks. A broken connection
// fails the sessions that use it. Frames between partitions of one worker are passed by reference.
// Read this file first, then session.go, port.go, lane.go, outbound.go and inbound.go.
//
// # Buffers
//
// A queue holds frames, not copies: writers read the sender's own buffers. [Port.End] waits until
// all its frames are written, so after it the buffers belong to the sender again. Every partition
// calls End at the end of a superstep, before it reports. So the rule of [transport.Frame] holds,
// and the queues take almost no memory.
//
// # Short frames
//
// With few messages, a superstep consists of waiting. So a sender writes a short frame itself if the
// connection accepts it at once, and a waiting partition polls the connections for a moment before it
// sleeps, and handles what has arrived. Long frames, and the rest of what was not accepted, are left
// to the writer and the reader of the connection.
//
// # Messages
//
// A [Link] carries messages of bytes under tags between the workers of a session, on the same
// connections. Each tag has a window, separate from the window of frames. Messages overtake frames
// that wait for room.
//
// # Credits
//
// Frames for a busy partition count against the window of their connection until the partition
// takes them. A full window stops the frames at the other side. So a worker holds at most a window
// and a chunk for each other worker, besides the frames that its partitions have taken. Windows are
// wider for long round trips (window.go), up to a bound for all together. A partition that waits,
// in Receive, End or Send, takes all frames for it at once. The frame that it waits for may be
// behind frames of other exchanges or partitions, which must not block it. So there is no deadlock:
// a partition either computes, which ends, or waits, and then its frames fill no window. Send does
// not wait for a receiver.
package mesh

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// Peer is a worker as other workers know it.
type Peer struct {
	Name        string
	Addr        string // the address where its mesh listens
	Incarnation uint64
}

// maxPending is the greatest number of connections in their hello. One more closes the oldest.
const maxPending = 128

// Mesh is a worker's access to the other workers. Several goroutines may call its methods at once.
type Mesh struct {
	options  Options
	listener net.Listener
	local    net.Listener // for workers of this host, or nil
	counters counters
	spare    spare
	traffic  [distances]traffic
	done     chan struct{}
	group    sync.WaitGroup
	// holds a token while connections are made: two new connections to one worker would fence each
	// other
	dialling chan struct{}

	mu       sync.Mutex
	closed   bool
	sessions map[key]*Session
	outs     map[string]*outbound
	replaced []*outbound // replaced in outs, but not closed yet
	ins      map[string]*inbound
	newest   map[string]uint64 // the latest known incarnation of each worker
	ways     map[string]way    // by worker
	pending  []net.Conn
}

// key is the key of a session.
type key struct {
	job   uint64
	epoch uint32
}

// New makes a mesh, which starts to listen.
func New(o Options) (*Mesh, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("mesh: %w", err)
	}
	l := o.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("mesh: %w", err)
		}
	}
	m := &Mesh{
		options: o, listener: l, done: make(chan struct{}), dialling: make(chan struct{}, 1),
		sessions: map[key]*Session{}, outs: map[string]*outbound{}, ins: map[string]*inbound{},
		newest: map[string]uint64{},
		ways:   map[string]way{},
	}
	m.counters.start = time.Now()
	m.spare.giveBack(o.Spare)
	m.group.Go(func() { m.accept(l) })
	if !o.TCP {
		m.local = listenLocal(l.Addr())
	}
	if m.local != nil {
		m.group.Go(func() { m.accept(m.local) })
	}
	return m, nil
}

// Self returns this worker as other workers must know it.
func (m *Mesh) Self() Peer {
	return Peer{m.options.Name, m.listener.Addr().String(), m.options.Incarnation}
}

// Stats returns the counters.
func (m *Mesh) Stats() Stats { return m.counters.stats() }

// Close ends all connections and sessions. When it returns, none of the mesh's goroutines runs. It
// is idempotent.
func (m *Mesh) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	sessions, pending := slices.Collect(maps.Values(m.sessions)), slices.Clone(m.pending)
	outs, ins := append(slices.Collect(maps.Values(m.outs)), m.replaced...),
		slices.Collect(maps.Values(m.ins))
	m.mu.Unlock()
	if first {
		close(m.done)
		m.listener.Close()
		if m.local != nil {
			m.local.Close()
		}
	}
	for _, s := range sessions {
		s.Fail(transport.ErrClosed)
	}
	for _, c := range pending {
		c.Close()
	}
	for _, out := range outs {
		out.fail(transport.ErrClosed)
	}
	for _, in := range ins {
		in.fail(transport.ErrClosed)
	}
	m.group.Wait()
	return nil
}

// accept accepts connections.
func (m *Mesh) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			select { // for example: out of files
			case <-m.done:
				return
			case <-time.After(20 * time.Millisecond):
				continue
			}
		}
		if m.begin(c) {
			m.group.Go(func() { m.serve(c) })
		}
	}
}

// begin records a connection that is in its hello. If there are too many, it closes the oldest.
func (m *Mesh) begin(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		c.Close()
		return false
	}
	if len(m.pending) >= maxPending {
		m.pending[0].Close()
		m.pending = slices.Delete(m.pending, 0, 1)
	}
	m.pending = append(m.pending, c)
	return true
}

// serve runs the hello with a dialler, and reads its frames until the connection ends.
func (m *Mesh) serve(c net.Conn) {
	c.SetDeadline(time.Now().Add(m.options.Hello))
	plain := c
	c, untrusted, err := m.options.accept(plain)
	var other greeting
	if err == nil {
		self := newGreeting(m.options.Name, m.options.Incarnation)
		other, err = listenHello(c, m.options.Token, self, uint64(m.options.Window), untrusted,
			m.admit)
	} else {
		c = plain
	}
	m.mu.Lock()
	m.pending = slices.DeleteFunc(m.pending, func(p net.Conn) bool { return p == plain })
	m.mu.Unlock()
	if err != nil {
		c.Close()
		if err != errProbed && m.counters.refused(err) {
			m.options.Log.Warn("connection refused", "from", c.RemoteAddr().String(), "reason",
				err.Error())
		}
		return
	}
	c.SetDeadline(time.Time{})
	in := newInbound(m, c, other)
	m.mu.Lock()
	old, closed := m.ins[other.name], m.closed
	m.ins[other.name] = in
	known := m.ways[other.name]
	m.mu.Unlock()
	in.expect(known)
	if old != nil {
		old.fail(fmt.Errorf("%w: the worker connected again", ErrFenced))
	}
	if closed {
		in.fail(transport.ErrClosed)
	}
	in.run()
}

// admit refuses a worker if a newer incarnation of it is known.
func (m *Mesh) admit(g greeting) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.newest[g.name]; g.incarnation < n {
		return fmt.Errorf("%w: found incarnation %d, expected %d or later", ErrFenced, g.incarnation, n)
	}
	m.newest[g.name] = g.incarnation
	return nil
}

// ForgetAbsent forgets the incarnations of workers without a connection. A new master whose data
// were lost may number incarnations from the beginning.
func (m *Mesh) ForgetAbsent() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.newest, func(name string, _ uint64) bool { return m.ins[name] == nil })
}

// outBroke fails the sessions that send on a connection.
func (m *Mesh) outBroke(out *outbound, err error) {
	m.mu.Lock()
	if m.outs[out.peer.Name] == out {
		delete(m.outs, out.peer.Name)
	}
	m.replaced = slices.DeleteFunc(m.replaced, func(o *outbound) bool { return o == out })
	m.mu.Unlock()
	m.broke(err, func(s *Session) bool { return slices.Contains(s.outs, out) })
}

// inBroke fails the sessions that a connection's worker belongs to. If the worker has a newer
// connection, it fails only the sessions that received on this one.
func (m *Mesh) inBroke(in *inbound, err error) {
	m.mu.Lock()
	current := m.ins[in.peer.name] == in
	if current {
		delete(m.ins, in.peer.name)
	}
	m.mu.Unlock()
	m.broke(err, func(s *Session) bool { return s.uses(in, current) })
}

func (m *Mesh) broke(err error, concerns func(*Session) bool) {
	if !errors.Is(err, transport.ErrClosed) {
		count(&m.counters.Broken, 1)
	}
	if errors.Is(err, errCorrupt) {
		count(&m.counters.Corrupt, 1)
	}
	m.mu.Lock()
	sessions := slices.Collect(maps.Values(m.sessions))
	m.mu.Unlock()
	for _, s := range sessions {
		if concerns(s) {
			s.Fail(err)
		}
	}
}

// session returns an open session, or nil.
func (m *Mesh) session(job uint64, epoch uint32) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[key{job, epoch}]
}
