package mesh

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// Layout assigns the partitions of a job to workers.
type Layout struct {
	Workers []Peer
	Owner   []int // by partition: an index in Workers
}

// validate returns an error if a layout is invalid for worker self.
func (l *Layout) validate(self Peer) error {
	seen := map[string]bool{}
	for _, w := range l.Workers {
		if seen[w.Name] {
			return fmt.Errorf("worker %s is in the layout twice", w.Name)
		}
		seen[w.Name] = true
		if w.Name == self.Name && w.Incarnation != self.Incarnation {
			return fmt.Errorf("%w: found incarnation %d of worker %s, expected %d",
				ErrFenced, w.Incarnation, w.Name, self.Incarnation)
		}
	}
	if !seen[self.Name] {
		return fmt.Errorf("worker %s is not in the layout", self.Name)
	}
	for i, w := range l.Owner {
		if w < 0 || w >= len(l.Workers) {
			return fmt.Errorf("partition %d is at worker %d of %d", i, w, len(l.Workers))
		}
	}
	return nil
}

// Session is a worker's part in an attempt at a job. It has the ports of the worker's partitions.
// After a failure all waiting and later calls return its error.
type Session struct {
	mesh   *Mesh
	job    uint64
	epoch  uint32
	layout Layout
	codec  transport.Codec
	ports  []*Port     // by partition; nil for those of other workers
	outs   []*outbound // by worker; nil for this one
	self   int         // index of this worker
	link   *Link
	done   chan struct{}

	writing sync.WaitGroup // frames queued or being written
	posted  atomic.Int64   // number of copied messages queued or being written
	idle    chan struct{}  // signalled when posted becomes 0

	spinning sync.Mutex
	skip     int // number of calls of spin that poll once
	vain     int // its value after the last vain call

	mu    sync.Mutex
	err   error
	bound []*inbound // by worker: the connection on which its frames arrive
}

// Open opens a session for an attempt at a job, and makes missing connections to the other workers.
// All workers must open it before any of them sends, because a worker refuses frames of sessions
// that are not open. A job and epoch has at most one open session. codec may be nil if all values
// have a raw form.
func (m *Mesh) Open(
	ctx context.Context, job uint64, epoch uint32, layout Layout, codec transport.Codec,
) (*Session, error) {
	failed := func(err error) (*Session, error) {
		return nil, fmt.Errorf("connecting to the other workers: %w", err)
	}
	if err := layout.validate(m.Self()); err != nil {
		return failed(err)
	}
	s := &Session{
		mesh: m, job: job, epoch: epoch, codec: codec, done: make(chan struct{}),
		idle:   make(chan struct{}, 1),
		layout: Layout{slices.Clone(layout.Workers), slices.Clone(layout.Owner)},
		ports:  make([]*Port, len(layout.Owner)), bound: make([]*inbound, len(layout.Workers)),
	}
	s.self = slices.IndexFunc(layout.Workers, func(w Peer) bool { return w.Name == m.options.Name })
	s.link = &Link{session: s, boxes: map[address]*box{}}
	for i, w := range layout.Owner {
		if w == s.self {
			s.ports[i] = newPort(s, i)
		}
	}
	outs, err := m.connect(ctx, layout.Workers)
	if err != nil {
		return failed(err)
	}
	s.outs = outs
	m.mu.Lock()
	k := key{job, epoch}
	switch {
	case m.closed:
		err = transport.ErrClosed
	case m.sessions[k] != nil:
		err = errors.New("the session is open already")
	default:
		m.sessions[k] = s
		for _, w := range layout.Workers {
			m.newest[w.Name] = max(m.newest[w.Name], w.Incarnation)
		}
	}
	m.mu.Unlock()
	if err != nil {
		return failed(err)
	}
	for _, out := range outs { // one that broke earlier did not fail this session
		if out != nil && !out.live() {
			s.Close()
			return failed(out.err)
		}
	}
	return s, nil
}

// Port returns the port of one of this worker's partitions. It panics for other partitions.
func (s *Session) Port(partition int) *Port {
	p := s.ports[partition]
	if p == nil {
		panic(fmt.Sprintf("mesh: partition %d is not at worker %s", partition, s.mesh.options.Name))
	}
	return p
}

// Endpoint returns Port for a run that begins after past supersteps of earlier runs of the session.
// Superstep 0 of the run is superstep past of the session. With near nothing is sent ahead: a frame
// sent ahead in the last superstep of a run would be received in the first superstep of the next.
func (s *Session) Endpoint(partition, past int, near bool) transport.Endpoint {
	p := s.Port(partition)
	p.past, p.near = past, near
	return p
}

// Begin sets the first superstep, if it is not 0. It must be called before any port receives.
func (s *Session) Begin(superstep int) {
	for _, p := range s.ports {
		if p != nil {
			p.mu.Lock()
			p.floor = uint32(superstep)
			p.mu.Unlock()
		}
	}
}

// Done is closed when the session has failed or was closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session failed: transport.ErrClosed if it was closed, nil while it is open.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// pause waits for a signal, or until the session or ctx ends.
func (s *Session) pause(ctx context.Context, wanted <-chan struct{}) error {
	if s.spin(wanted) {
		return nil
	}
	select {
	case <-wanted:
		return nil
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	// spins is the number of polls of a waiting goroutine before it sleeps. They take about 100
	// microseconds.
	spins = 200
	// mostVain is the number of vain spins, less those in between that were not, after which spins
	// become rare.
	mostVain = 8
)

// processors are those of the machine or container. It is read before worker sets GOMAXPROCS.
var processors = runtime.GOMAXPROCS(0)

// spin polls the connections for a moment, and reports whether wanted was signalled. Short messages
// mostly arrive in this time. A sleeping thread often wakes on the sender's processor, and then both
// take turns there. If there are more workers than processors, or mostly nothing arrives, others may
// need the processor: then spin polls only once, in the latter case up to 63 times. Only one
// goroutine of a session spins, because a worker has one more processor than threads.
func (s *Session) spin(wanted <-chan struct{}) bool {
	rounds := 1
	if len(s.bound) <= processors && s.spinning.TryLock() {
		defer s.spinning.Unlock()
		if s.skip--; s.skip <= 0 {
			rounds = spins/max(len(s.bound)-1, 1) + 1
		}
	}
	for i := range rounds {
		polled := false
		for w := range s.bound {
			if in := s.inbound(w); in != nil && in.from.raw != nil {
				in.poll()
				polled = true
			}
		}
		select {
		case <-wanted:
			if i > 0 {
				s.vain /= 2
			}
			return true
		default:
		}
		if !polled {
			return false
		}
	}
	if rounds > 1 {
		s.vain = min(s.vain+1, mostVain+6)
		s.skip = 1 << max(s.vain-mostVain, 0)
	}
	return false
}

// Fail ends the session: waiting and later calls return err, or the error of an earlier failure.
func (s *Session) Fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
		close(s.done)
	}
	s.mu.Unlock()
	if !first {
		return
	}
	for _, p := range s.ports {
		if p != nil {
			p.end()
		}
	}
}

// Close ends the session: waiting and later calls return transport.ErrClosed. It first writes the
// messages of finished calls of Link.Send. When it returns, no buffer of a sent frame is read any
// more. It is idempotent.
func (s *Session) Close() {
	s.flush()
	s.Fail(transport.ErrClosed)
	s.mesh.mu.Lock()
	if k := (key{s.job, s.epoch}); s.mesh.sessions[k] == s {
		delete(s.mesh.sessions, k)
	}
	s.mesh.mu.Unlock()
	for _, out := range s.outs {
		if out != nil {
			out.drop(s)
		}
	}
	s.writing.Wait() // at most one chunk is being written
}

// flush waits until copied messages are written. They need no credit, only a connection that
// accepts bytes.
func (s *Session) flush() {
	late := time.After(s.mesh.options.Silence)
	for s.posted.Load() > 0 {
		select {
		case <-s.idle:
		case <-s.done:
			return
		case <-late:
			return
		}
	}
}

// bind records the connection on which a worker's frames arrive. It returns an error if there is
// another, because frames may have been lost.
func (s *Session) bind(worker int, in *inbound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound[worker] == nil {
		s.bound[worker] = in
	}
	if s.bound[worker] != in {
		anew := errors.New("the worker connected again")
		return &BrokenError{in.peer.name, s.mesh.options.Name, anew}
	}
	return nil
}

// inbound returns the connection on which a worker's frames arrive.
func (s *Session) inbound(worker int) *inbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound[worker]
}

// uses reports whether the end of a connection fails the session. current means that the worker has
// no newer connection.
func (s *Session) uses(in *inbound, current bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.layout.Workers {
		if w.Name == in.peer.name && w.Incarnation == in.peer.incarnation {
			return s.bound[i] == in || s.bound[i] == nil && current
		}
	}
	return false
}
