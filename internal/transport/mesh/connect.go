package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// Connect makes the missing connections to the workers. Open does so too.
func (m *Mesh) Connect(ctx context.Context, peers []Peer) error {
	_, err := m.connect(ctx, peers)
	return err
}

// connect returns the connections to the workers; the element of this worker is nil.
func (m *Mesh) connect(ctx context.Context, peers []Peer) ([]*outbound, error) {
	select {
	case m.dialling <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-m.done:
		return nil, transport.ErrClosed
	}
	defer func() { <-m.dialling }()
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return nil, transport.ErrClosed
	}
	outs, errs := make([]*outbound, len(peers)), make([]error, len(peers))
	var group sync.WaitGroup
	for i, p := range peers {
		if p.Name == m.options.Name {
			continue
		}
		m.mu.Lock()
		out := m.outs[p.Name]
		m.mu.Unlock()
		if out != nil && out.peer.Incarnation == p.Incarnation && out.live() {
			outs[i] = out
			if out.doubtful() && !m.used(out) {
				group.Go(func() {
					if made, err := m.dial(ctx, out.peer); err == nil {
						outs[i] = made
					}
				})
			}
			continue
		}
		if out != nil {
			out.fail(fmt.Errorf("%w: incarnation %d has ended", ErrFenced, out.peer.Incarnation))
		}
		group.Go(func() { outs[i], errs[i] = m.dial(ctx, p) })
	}
	group.Wait()
	return outs, errors.Join(errs...)
}

// dial makes a connection. If the worker is on this host it tries a Unix socket first.
func (m *Mesh) dial(ctx context.Context, p Peer) (*outbound, error) {
	failed := func(err error) (*outbound, error) {
		return nil, &UnreachableError{m.options.Name, p.Name, err}
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Hello)
	defer cancel()
	var c net.Conn
	var window uint64
	if !m.options.TCP {
		// limit the time, so that TCP is still tried if another process has the name
		soon, cancel := context.WithTimeout(ctx, m.options.Hello/4)
		if c = dialLocal(soon, p.Addr); c != nil {
			var err error
			if c, window, err = m.greet(soon, c, p, false); err != nil {
				c = nil
			}
		}
		cancel()
	}
	if c == nil {
		var err error
		if c, err = m.options.Dial(ctx, "tcp", p.Addr); err != nil {
			return failed(err)
		}
		if c, window, err = m.greet(ctx, c, p, true); err != nil {
			return failed(err)
		}
	}
	out := newOutbound(m, c, p, window)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		c.Close()
		return failed(transport.ErrClosed)
	}
	if old := m.outs[p.Name]; old != nil {
		m.replaced = append(m.replaced, old)
	}
	m.outs[p.Name] = out
	m.group.Go(out.write)
	m.group.Go(out.readCredits)
	return out, nil
}

// greet runs the hello on a connection, after TLS if configured. It returns the secured connection
// and the window. It closes the connection on failure.
func (m *Mesh) greet(
	ctx context.Context, plain net.Conn, p Peer, known bool,
) (net.Conn, uint64, error) {
	stop := context.AfterFunc(ctx, func() { plain.SetDeadline(time.Now()) })
	window := uint64(0)
	c, err := m.options.secure(plain)
	if err == nil {
		window, err = dialHello(c, m.options.Token,
			newGreeting(m.options.Name, m.options.Incarnation), p, known)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		plain.Close()
		return nil, 0, err
	}
	plain.SetDeadline(time.Time{})
	return c, window, nil
}
