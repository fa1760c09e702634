package control

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
)

// limits bound what callers can hold on to, whoever they are.
type limits struct {
	// For the head of a request, from the connection's or the head's beginning.
	header  time.Duration
	body    time.Duration // for its body
	idle    time.Duration // between requests
	perHost int           // connections
	all     int           // connections
	// Connections that have not come as far as a request: in the handshake of TLS, or silent.
	fresh int
	size  int64 // of a body, in bytes
}

var usual = limits{header: 5 * time.Second, body: 10 * time.Second, idle: time.Minute, perHost: 256, all: 4096, fresh: 512, size: MaxMessage}

// limiter bounds how many connections of a listener there are, from each host and in all. Where
// there are too many, the oldest goes whose caller is not known, else the oldest that asks for
// nothing: who opens connections, and is silent or slow, pushes out nobody who is known. A
// connection that asks for nothing for too long is closed.
type limiter struct {
	net.Listener
	limits
	full   func(from string) // is told whose connection went because there were too many
	mu     sync.Mutex
	hosts  map[string][]*counted // oldest first
	count  int
	silent []*counted // those without a request so far, oldest first
}

// counted is a connection that the limiter counts.
type counted struct {
	net.Conn
	limit *limiter
	host  string
	once  sync.Once
	idle  *time.Timer // closes the connection; under the limiter's lock
	asked bool        // there was a request; under the limiter's lock
	known bool        // the caller of a request was; under the limiter's lock
	busy  int         // requests of it that are being answered; under the limiter's lock
}

func newLimiter(l net.Listener, bounds limits, full func(from string)) *limiter {
	return &limiter{Listener: l, limits: bounds, full: full, hosts: map[string][]*counted{}}
}

// Accept returns the next connection that there is room for.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		conn := &counted{Conn: c, limit: l, host: host}
		l.mu.Lock()
		// Until a request is there.
		conn.idle = time.AfterFunc(l.header, func() { _ = conn.Close() })
		l.mu.Unlock()
		out, ok := l.admit(conn)
		if out != nil {
			_ = out.Close()
			l.full(out.RemoteAddr().String())
		}
		if ok {
			return conn, nil
		}
	}
}

// admit counts a connection, and names one to be closed for it, or that itself.
func (l *limiter) admit(c *counted) (out *counted, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.count >= l.all
	if full || len(l.hosts[c.host]) >= l.perHost {
		if out = l.victim(c.host, full); out == nil {
			return c, false
		}
		l.remove(out)
	}
	if out == nil && l.fresh > 0 && len(l.silent) >= l.fresh {
		out = l.silent[0]
		l.remove(out)
	}
	l.hosts[c.host] = append(l.hosts[c.host], c)
	l.silent = append(l.silent, c)
	l.count++
	return out, true
}

// victim is the connection that is closed first: of a host or, where all are too many, of any. The
// oldest goes of the host that has most whose callers are not known, else most that ask for
// nothing. The lock is held.
func (l *limiter) victim(host string, any bool) *counted {
	for _, stays := range []func(c *counted) bool{
		func(c *counted) bool { return c.known },
		func(c *counted) bool { return c.busy > 0 },
	} {
		var most []*counted
		for name, own := range l.hosts {
			if !any && name != host {
				continue
			}
			if some := slices.DeleteFunc(slices.Clone(own), stays); len(some) > len(most) {
				most = some
			}
		}
		if len(most) > 0 {
			return most[0]
		}
	}
	return nil
}

// remove stops counting a connection. The lock is held.
func (l *limiter) remove(c *counted) {
	own := l.hosts[c.host]
	i := slices.Index(own, c)
	if i < 0 {
		return
	}
	l.count--
	l.begun(c)
	if own = slices.Delete(own, i, i+1); len(own) == 0 {
		delete(l.hosts, c.host)
	} else {
		l.hosts[c.host] = own
	}
}

// begun takes note that a connection has a request, or is gone. The lock is held.
func (l *limiter) begun(c *counted) {
	l.silent = slices.DeleteFunc(l.silent, func(o *counted) bool { return o == c })
}

// connKey is where a request's context has its connection.
type connKey struct{}

// requested is a connection of requests.
type requested struct {
	*counted // nil of a listener that counts none
	checked  certs.Checked
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	count, _ := c.(*counted)
	return context.WithValue(ctx, connKey{}, &requested{counted: count})
}

// checked is what is known of the certificate of a request's connection, or nil.
func checked(ctx context.Context) *certs.Checked {
	if c, ok := ctx.Value(connKey{}).(*requested); ok {
		return &c.checked
	}
	return nil
}

// known says that the caller of a request is known: its connection goes last where there are too
// many.
func known(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*requested); ok && c.counted != nil {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		c.counted.known = true
	}
}

// handle bounds the bodies of requests, and marks the connections of those that are being answered.
// A request's head that comes byte by byte is none yet.
func (b limits) handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*requested); ok && c.counted != nil {
			c.limit.mark(c.counted, 1)
			defer c.limit.mark(c.counted, -1)
		}
		if r.Body != nil && r.Body != http.NoBody {
			// net/http takes the deadline back at the body's end: an answer may take longer.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.body))
			// The server's own must keep its body, of which it knows how much is left.
			r = r.WithContext(r.Context())
			r.Body = http.MaxBytesReader(w, r.Body, b.size)
		}
		next.ServeHTTP(w, r)
	})
}

// mark counts the requests of a connection that are being answered. One with none is closed when it
// stays so.
func (l *limiter) mark(c *counted, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.asked {
		c.asked = true
		l.begun(c)
	}
	if c.busy += requests; c.busy > 0 {
		c.idle.Stop()
	} else {
		c.idle.Reset(l.idle)
	}
}

// Close closes the connection and stops counting it.
func (c *counted) Close() error {
	c.once.Do(func() {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		c.idle.Stop()
		c.limit.remove(c)
	})
	return c.Conn.Close()
}
