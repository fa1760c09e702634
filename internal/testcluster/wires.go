package testcluster

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wires are the connections of a process.
type wires struct {
	mu  sync.Mutex
	all []*wire
	off bool
	to  map[string]bool // addresses that cannot be reached

	swallowed atomic.Int64 // bytes that were written to silent connections
	link      link
}

func (w *wires) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	cut := w.to[address]
	w.mu.Unlock()
	if cut {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return w.add(conn)
}

func (w *wires) add(conn net.Conn) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	x := &wire{Conn: conn, link: &w.link, swallowed: &w.swallowed, silent: make(chan struct{})}
	w.all = append(w.all, x)
	return x, nil
}

// cut makes all connections silent, or closes them; those to come fail.
func (w *wires) cut(closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
	for _, x := range w.all {
		x.once.Do(func() { close(x.silent) })
		if closed {
			_ = x.Conn.Close()
		}
	}
}

// mend lets connections be made again.
func (w *wires) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = false
}

// part cuts the way to an address, or mends it; connections that there are stay cut.
func (w *wires) part(address string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		w.to = map[string]bool{}
	}
	w.to[address] = cut
	for _, x := range w.all {
		if cut && x.RemoteAddr().String() == address {
			x.once.Do(func() { close(x.silent) })
		}
	}
}

// close closes all connections.
func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.all {
		_ = x.Conn.Close()
	}
	w.all = nil
}

// wiredListener lets connections in as wires.
type wiredListener struct {
	*net.TCPListener
	wires *wires
}

func (l *wiredListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wires.add(conn)
}

// wire is a connection that may fall silent: what is written goes nowhere, nothing is read.
type wire struct {
	net.Conn
	link   *link
	silent chan struct{}
	once   sync.Once

	swallowed *atomic.Int64
}

func (w *wire) Write(p []byte) (int, error) {
	select {
	case <-w.silent:
		w.swallowed.Add(int64(len(p)))
		return len(p), nil
	default:
		return w.link.write(w.Conn, p)
	}
}

// link is what all connections of a process share: bytes pass one after the other, if rate is not
// 0, so many a second.
type link struct {
	rate atomic.Int64
	mu   sync.Mutex
}

// turn is how many bytes a connection may pass before another has its turn.
const turn = 4 << 10

func (l *link) write(to io.Writer, p []byte) (done int, err error) {
	if l.rate.Load() == 0 {
		return to.Write(p)
	}
	for len(p) > done && err == nil {
		n := 0
		n, err = l.pass(to, p[done:min(len(p), done+turn)])
		done += n
	}
	return done, err
}

func (l *link) pass(to io.Writer, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rate := l.rate.Load(); rate > 0 {
		<-time.After(time.Duration(len(p)) * time.Second / time.Duration(rate))
	}
	return to.Write(p)
}

// Close of a silent connection is not heard on the other side.
func (w *wire) Close() error {
	select {
	case <-w.silent:
		return w.SetDeadline(time.Unix(1, 0))
	default:
		return w.Conn.Close()
	}
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		n, err := w.Conn.Read(p)
		select {
		case <-w.silent:
			if err != nil {
				return 0, err
			}
		default:
			return n, err
		}
	}
}
