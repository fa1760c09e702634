//go:build linux

package chaos_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards TCP connections to an address, until they are cut or held.
//
//	passing --hold--> held: bytes wait, new connections too --release--> passing
//	   |
//	  cut: all connections are reset; with refuse new ones are reset as well, until release
type proxy struct {
	listener net.Listener
	to       string

	mu       sync.Mutex
	released *sync.Cond
	held     bool
	refusing bool
	closed   bool
	open     map[net.Conn]bool
	all      sync.WaitGroup
}

func newProxy(listen, to string) (*proxy, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, to: to, open: map[net.Conn]bool{}}
	p.released = sync.NewCond(&p.mu)
	p.all.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.pass(c) })
	}
}

// pass forwards one connection until either end closes it.
func (p *proxy) pass(near net.Conn) {
	defer p.forget(near)
	if !p.admit(near) {
		return
	}
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		reset(near)
		return
	}
	defer p.forget(far)
	if !p.admit(far) {
		reset(near)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(near, far) })
	p.copy(far, near)
	both.Wait()
}

// admit registers a connection, or resets it.
func (p *proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held && !p.closed {
		p.released.Wait()
	}
	if p.refusing || p.closed {
		reset(c)
		return false
	}
	p.open[c] = true
	return true
}

func (p *proxy) forget(c net.Conn) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	_ = c.Close() // it may be reset already
}

// copy forwards data from one end, and its close.
func (p *proxy) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		for p.held && !p.closed {
			p.released.Wait()
		}
		p.mu.Unlock()
		if _, e := to.Write(buffer[:n]); e != nil {
			reset(from)
			return
		}
		switch {
		case err == io.EOF:
			_ = to.(*net.TCPConn).CloseWrite() // the other end may be gone
			return
		case err != nil:
			reset(to)
			return
		}
	}
}

// reset closes a connection with a reset, as a host that does not know it.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// cut resets all connections, and with refuse also new ones until release. It returns the number of
// connections.
func (p *proxy) cut(refuse bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = refuse
	for c := range p.open {
		reset(c)
	}
	return len(p.open) / 2 // two ends each
}

// hold blocks all data until release.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.refusing = false, false
	p.released.Broadcast()
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut(true)
	p.mu.Lock()
	p.closed = true
	p.released.Broadcast()
	p.mu.Unlock()
	p.all.Wait()
}

// holdLocal takes the name of the Unix socket with which workers of one host connect, and closes
// its connections. So workers use TCP, through the proxy.
func holdLocal(t *testing.T, port string) {
	l, err := net.Listen("unix", "@superstep-mesh-"+port)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
}
