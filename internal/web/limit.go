package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Bounds on connections.
const (
	maxPerHost = 256
	maxAll     = 1024
)

// limiter bounds how many connections there are, from each host and in all. Where there are too many, the oldest goes of
// those that ask for nothing: a host that opens connections and is silent (slowloris) pushes out itself alone.
type limiter struct {
	net.Listener
	mu    sync.Mutex
	hosts map[string][]*counted // oldest first
	all   int
}

// counted is a connection that the limiter counts.
type counted struct {
	net.Conn
	limit *limiter
	host  string
	once  sync.Once
	busy  bool // a request of it is being answered; under the limiter's lock
}

func newLimiter(l net.Listener) *limiter {
	return &limiter{Listener: l, hosts: map[string][]*counted{}}
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
		out, ok := l.admit(conn)
		if out != nil {
			_ = out.Close()
		}
		if ok {
			return conn, nil
		}
		_ = c.Close()
	}
}

// admit counts a connection, and names one to be closed for it.
func (l *limiter) admit(c *counted) (out *counted, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full := l.all >= maxAll; full || len(l.hosts[c.host]) >= maxPerHost {
		own := l.hosts[c.host]
		for _, other := range l.hosts {
			if full && len(other) > len(own) {
				own = other
			}
		}
		i := slices.IndexFunc(own, func(o *counted) bool { return !o.busy })
		if i < 0 {
			return nil, false
		}
		out = own[i]
		l.remove(out)
	}
	l.hosts[c.host] = append(l.hosts[c.host], c)
	l.all++
	return out, true
}

// remove stops counting a connection. The lock is held.
func (l *limiter) remove(c *counted) {
	own := l.hosts[c.host]
	i := slices.Index(own, c)
	if i < 0 {
		return
	}
	l.all--
	if own = slices.Delete(own, i, i+1); len(own) == 0 {
		delete(l.hosts, c.host)
	} else {
		l.hosts[c.host] = own
	}
}

// connKey is where a request's context has its connection.
type connKey struct{}

func (*limiter) context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// handle marks the connections of requests that are being answered. A request's head that comes byte by byte is none yet.
func (l *limiter) handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*counted); ok {
			l.mark(c, true)
			defer l.mark(c, false)
		}
		next.ServeHTTP(w, r)
	})
}

func (l *limiter) mark(c *counted, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.busy = busy
}

// Close closes the connection and stops counting it.
func (c *counted) Close() error {
	c.once.Do(func() {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		c.limit.remove(c)
	})
	return c.Conn.Close()
}
