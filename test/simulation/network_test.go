package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// network connects hosts by streams in memory, in virtual time. Each direction between two hosts
// has a delay and may be cut. Data sent during a cut arrive after it, because TCP retransmits.
// Streams have unlimited buffers: otherwise a goroutine could wait for the network while it holds a
// mutex, and virtual time would stop.
type network struct {
	mu     sync.Mutex
	random *rand.Rand
	delay  time.Duration // minimum delay between two hosts
	jitter time.Duration // maximum additional delay
	hosts  map[string]*host
	cuts   map[[2]string]int // from, to: number of active cuts
	sent   int               // number of sent segments
}

// host is a process's end of the network, with its own address.
type host struct {
	net   *network
	name  string
	ip    net.IP
	down  bool
	mute  bool // down without a reset, as after a power failure
	ports int
	heard map[int]*listener
	conns map[*stream]bool
}

func newNetwork(random *rand.Rand, delay, jitter time.Duration) *network {
	return &network{random: random, delay: delay, jitter: jitter, hosts: map[string]*host{}, cuts: map[[2]string]int{}}
}

// host returns a new host. It replaces an earlier host of this name, and data sent to that one is
// answered by a reset.
func (n *network) host(name string) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	ip := net.IPv4(127, 1, 0, byte(len(n.hosts)+1))
	if old := n.hosts[name]; old != nil {
		ip = old.ip
		n.reset(old, func(*stream) bool { return true })
	}
	h := &host{net: n, name: name, ip: ip, ports: 40000, heard: map[int]*listener{}, conns: map[*stream]bool{}}
	n.hosts[name] = h
	return h
}

// at returns the host of an address. The caller holds the lock.
func (n *network) at(ip net.IP) *host {
	for _, h := range n.hosts {
		if h.ip.Equal(ip) {
			return h
		}
	}
	return nil
}

// cut cuts the direction from one host to another. mend undoes one cut.
func (n *network) cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{from, to}]++
}

func (n *network) mend(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	way := [2]string{from, to}
	if n.cuts[way]--; n.cuts[way] > 0 {
		return
	}
	delete(n.cuts, way)
	// TCP's next retransmission
	again := n.delay + time.Duration(n.random.Int64N(int64(500*time.Millisecond)))
	for c := range n.hosts[from].conns {
		if c.far == to {
			c.release(time.Now().Add(again))
		}
	}
}

// reset breaks a host's matching connections at both ends.
func (n *network) reset(h *host, match func(*stream) bool) (broken int) {
	for c := range h.conns {
		if match(c) {
			broken++
			c.breaks(syscall.ECONNRESET)
			c.peer.breaks(syscall.ECONNRESET)
			delete(h.conns, c)
			if other := n.hosts[c.far]; other != nil {
				delete(other.conns, c.peer)
			}
		}
	}
	return broken
}

// breakAll resets the connections between two hosts. If other is "", it resets all connections of
// the first.
func (n *network) breakAll(name, other string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reset(n.hosts[name], func(c *stream) bool { return other == "" || c.far == other })
}

// kill ends a host. If loud, its connections are reset, as when a process ends. Otherwise other
// hosts receive nothing more, as after a power failure.
func (h *host) kill(loud bool) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.down, h.mute = true, !loud
	for _, l := range h.heard {
		l.end()
	}
	if loud {
		h.net.reset(h, func(*stream) bool { return true })
		return
	}
	for c := range h.conns {
		c.breaks(syscall.ENETDOWN) // for its own process
	}
}

// listen listens at a port. 0 means any port.
func (h *host) listen(port int) *listener {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if port == 0 {
		h.ports++
		port = h.ports
	}
	l := &listener{host: h, at: &net.TCPAddr{IP: h.ip, Port: port}, backlog: make(chan *stream,
		1024), closed: make(chan struct{}), poked: make(chan struct{})}
	h.heard[port] = l
	return l
}

// dial connects to an address. It is a control.Dialer.
func (h *host) dial(ctx context.Context, _, address string) (net.Conn, error) {
	failed := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	name, text, err := net.SplitHostPort(address)
	port, err2 := strconv.Atoi(text)
	if errors.Join(err, err2) != nil {
		return failed(fmt.Errorf("found the address %q", address))
	}
	n := h.net
	for {
		n.mu.Lock()
		to := n.at(net.ParseIP(name))
		wait, reached := n.wait(), false
		switch {
		case h.down:
			n.mu.Unlock()
			return failed(syscall.ENETDOWN)
		case to == nil:
			n.mu.Unlock()
			return failed(syscall.EHOSTUNREACH)
		default:
			reached = n.cuts[[2]string{h.name, to.name}] == 0 &&
				n.cuts[[2]string{to.name, h.name}] == 0
		}
		n.mu.Unlock()
		if !reached {
			wait = 500 * time.Millisecond // the next SYN
		}
		select {
		case <-time.After(2 * wait): // a round trip
		case <-ctx.Done():
			return failed(ctx.Err())
		}
		if !reached {
			continue
		}
		if c, err := n.join(h, to, port); err != nil {
			return failed(err)
		} else if c != nil {
			return c, nil
		}
	}
}

// join makes a connection. It returns nil if no host answers.
func (n *network) join(from, to *host, port int) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to = n.hosts[to.name]
	switch l := to.heard[port]; {
	case from.down:
		return nil, syscall.ENETDOWN
	case to.mute:
		return nil, nil
	case l == nil || l.isClosed():
		return nil, syscall.ECONNREFUSED
	default:
		from.ports++
		near := &net.TCPAddr{IP: from.ip, Port: from.ports}
		a, b := newStream(n, from.name, to.name, near, l.at),
			newStream(n, to.name, from.name, l.at, near)
		a.peer, b.peer = b, a
		select {
		case l.backlog <- b:
		default:
			return nil, syscall.ECONNREFUSED
		}
		from.conns[a], to.conns[b] = true, true
		return a, nil
	}
}

// wait returns the delay of the next segment. The caller holds the lock.
func (n *network) wait() time.Duration {
	n.sent++
	d := n.delay
	if n.jitter > 0 {
		d += time.Duration(n.random.Int64N(int64(n.jitter)))
	}
	return d
}

// listener accepts connections at a port.
type listener struct {
	host    *host
	at      *net.TCPAddr
	backlog chan *stream
	once    sync.Once
	closed  chan struct{}

	mu       sync.Mutex
	deadline time.Time
	poked    chan struct{} // closed and replaced when the deadline changes
}

func (l *listener) Addr() net.Addr { return l.at }
func (l *listener) end()           { l.once.Do(func() { close(l.closed) }) }

func (l *listener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

func (l *listener) Close() error {
	l.end()
	return nil
}

func (l *listener) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = t
	close(l.poked)
	l.poked = make(chan struct{})
	return nil
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		poked, deadline := l.poked, l.deadline
		l.mu.Unlock()
		if l.isClosed() {
			return nil, net.ErrClosed
		}
		expired, stop := timeout(deadline)
		select {
		case c := <-l.backlog:
			stop()
			return c, nil
		case <-l.closed:
		case <-poked:
		case <-expired:
			return nil, os.ErrDeadlineExceeded
		}
		stop()
	}
}

// timeout returns a channel that receives at the deadline, and a function that stops it. Without a
// deadline the channel is nil.
func timeout(deadline time.Time) (<-chan time.Time, func()) {
	if deadline.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(deadline))
	return t.C, func() { t.Stop() }
}

// pace changes the delay.
func (n *network) pace(delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay, n.jitter = delay, delay
}
