package netem

import (
	"net"
	"sync"
	"time"

	"github.com/superstep-go/superstep/test/hosts/netns"
)

// lagged is a connection with an additional delay in each direction, as between clusters (Matsuda).
// It wraps one end of a connection.
type lagged struct {
	net.Conn
	delay time.Duration
	wire  *Wire // nil means no limit of the rate
	out   chan packet
	in    chan packet
	rest  packet // received bytes that Read has not returned yet
	done  chan struct{}
	once  sync.Once
}

// packet is data in flight, or the end of a connection.
type packet struct {
	data []byte
	due  time.Time
	err  error
}

// Wire limits the total rate of several connections.
type Wire struct {
	rate float64
	mu   sync.Mutex
	free time.Time // when it has sent everything
}

// NewWire returns a wire with a rate in bytes per second.
func NewWire(rate float64) *Wire { return &Wire{rate: rate} }

// carry queues n bytes on the wire, and returns the time at which the last one will have left.
func (w *Wire) carry(n int) time.Time {
	now := time.Now()
	if w == nil {
		return now
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.rate * float64(time.Second)))
	return w.free
}

// maxPackets is the maximum number of packets in flight. Even for packets of an MTU this exceeds
// every window here.
const maxPackets = 1 << 14

// Lag adds a delay in each direction to a connection, and makes it send on a wire unless that is
// nil. Two goroutines transfer its bytes until it is closed or breaks.
func Lag(c net.Conn, delay time.Duration, w *Wire) net.Conn {
	l := &lagged{Conn: c, delay: delay, wire: w, out: make(chan packet,
		maxPackets), in: make(chan packet, maxPackets), done: make(chan struct{})}
	go l.send()
	go l.receive()
	return l
}

// precise is the last part of a wait, in which a timer would be too late.
const precise = 2 * time.Millisecond

// wait waits until a time. It reports whether the connection is still open.
func (l *lagged) wait(due time.Time) bool {
	if left := time.Until(due) - precise; left > 0 {
		t := time.NewTimer(left)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.done:
			return false
		}
	}
	netns.Until(due)
	return !l.closed()
}

func (l *lagged) send() {
	for {
		select {
		case p := <-l.out:
			if !l.wait(p.due) {
				return
			}
			if _, err := l.Conn.Write(p.data); err != nil {
				l.Close()
				return
			}
		case <-l.done:
			return
		}
	}
}

func (l *lagged) receive() {
	b := make([]byte, 64<<10)
	for {
		n, err := l.Conn.Read(b)
		select {
		case l.in <- packet{append([]byte(nil), b[:n]...), time.Now().Add(l.delay), err}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// Write sends bytes.
func (l *lagged) Write(b []byte) (int, error) {
	if l.closed() {
		return 0, net.ErrClosed // even if there is room: select would choose at random
	}
	select {
	case l.out <- packet{data: append([]byte(nil), b...), due: l.wire.carry(len(b)).Add(l.delay)}:
		return len(b), nil
	case <-l.done:
		return 0, net.ErrClosed
	}
}

// Read returns bytes that have arrived. Only one goroutine may call it.
func (l *lagged) Read(b []byte) (int, error) {
	for len(l.rest.data) == 0 {
		if l.closed() {
			return 0, net.ErrClosed
		}
		if l.rest.err != nil {
			return 0, l.rest.err
		}
		select {
		case l.rest = <-l.in:
			if !l.wait(l.rest.due) {
				return 0, net.ErrClosed
			}
		case <-l.done:
			return 0, net.ErrClosed
		}
	}
	n := copy(b, l.rest.data)
	l.rest.data = l.rest.data[n:]
	return n, nil
}

func (l *lagged) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Close ends the connection at once. It is idempotent.
func (l *lagged) Close() (err error) {
	l.once.Do(func() {
		close(l.done)
		err = l.Conn.Close()
	})
	return err
}
