package control

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
)

// limits bound the resources that callers can use.
type limits struct {
	// Time for the head of a request, from the start of the connection or head.
	header  time.Duration
	body    time.Duration // time for its body
	idle    time.Duration // between requests
	perHost int           // connections per host
	all     int           // connections in total
	// Connections without a request yet: in the TLS handshake, or silent.
	fresh int
	size  int64 // maximum size of a body in bytes
}

var usual = limits{
	header: 5 * time.Second, body: 10 * time.Second, idle: time.Minute, perHost: 256, all: 4096,
	fresh: 512, size: MaxMessage,
}

// limiter bounds the connections of a listener, per host and in total. When there are too many, it
// closes the oldest connection of an unknown caller or, if there is none, the oldest without a
// request in progress. So silent or slow strangers cannot push out known callers. It also closes
// connections that stay idle too long.
type limiter struct {
	net.Listener
	limits
	full func(from string) // called with the address of a connection closed for lack of room
	mu   sync.Mutex
	open []*counted // oldest first
}

// counted is a connection counted by the limiter.
type counted struct {
	net.Conn
	limit *limiter
	host  string
	once  sync.Once
	idle  *time.Timer // closes the connection; guarded by the limiter's lock
	asked bool        // there was a request; guarded by the limiter's lock
	known bool        // a request's caller was authenticated; guarded by the limiter's lock
	busy  int         // requests in progress; guarded by the limiter's lock
}

func newLimiter(l net.Listener, bounds limits, full func(from string)) *limiter {
	return &limiter{Listener: l, limits: bounds, full: full}
}

// Accept returns the next connection for which there is room.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		conn := &counted{Conn: c, limit: l, host: host}
		l.mu.Lock()
		// The timeout until the first request.
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

// admit counts a connection. If there are too many, out is the connection to close: an earlier one,
// or c itself if ok is false.
func (l *limiter) admit(c *counted) (out *counted, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, silent := 0, 0
	for _, o := range l.open {
		if o.host == c.host {
			own++
		}
		if !o.asked {
			silent++
		}
	}
	switch full := len(l.open) >= l.all; {
	case full || own >= l.perHost:
		if out = l.victim(c.host, full); out == nil {
			return c, false
		}
	case l.fresh > 0 && silent >= l.fresh:
		out = l.open[slices.IndexFunc(l.open, func(o *counted) bool { return !o.asked })]
	}
	l.remove(out)
	l.open = append(l.open, c)
	return out, true
}

// victim returns the connection to close: of a host or, if any is true, of all hosts. It chooses
// the host with the most connections of unknown callers, or else with the most idle connections,
// and of these the oldest. The caller holds the lock.
func (l *limiter) victim(host string, any bool) *counted {
	for _, stays := range []func(c *counted) bool{
		func(c *counted) bool { return c.known },
		func(c *counted) bool { return c.busy > 0 },
	} {
		var most []*counted
		hosts := map[string][]*counted{}
		for _, c := range l.open {
			if (any || c.host == host) && !stays(c) {
				hosts[c.host] = append(hosts[c.host], c)
				if some := hosts[c.host]; len(some) > len(most) {
					most = some
				}
			}
		}
		if len(most) > 0 {
			return most[0]
		}
	}
	return nil
}

// remove stops counting a connection. The caller holds the lock.
func (l *limiter) remove(c *counted) {
	if i := slices.Index(l.open, c); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// connKey is the context key of a request's connection.
type connKey struct{}

// requested is the connection of a request.
type requested struct {
	*counted // nil if the listener does not count connections
	checked  certs.Checked
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	count, _ := c.(*counted)
	return context.WithValue(ctx, connKey{}, &requested{counted: count})
}

// checked returns the cached check of the connection's certificate, or nil.
func checked(ctx context.Context) *certs.Checked {
	if c, ok := ctx.Value(connKey{}).(*requested); ok {
		return &c.checked
	}
	return nil
}

// known notes that the caller of a request is authenticated, so that its connection is closed last.
func known(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*requested); ok && c.counted != nil {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		c.counted.known = true
	}
}

// storeSilence bounds the time for which the next part of an object of a worker is awaited.
const storeSilence = time.Minute

// patient is a body with a deadline for each read. Between reads it has none, because the disk here
// may be slow.
type patient struct {
	io.ReadCloser
	to *http.ResponseController
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.to.SetReadDeadline(time.Now().Add(storeSilence))
	n, err := p.ReadCloser.Read(b)
	_ = p.to.SetReadDeadline(time.Time{})
	return n, err
}

// handle bounds the bodies of requests, and marks connections with requests in progress. A partial
// head is not a request yet.
func (b limits) handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*requested); ok && c.counted != nil {
			c.limit.mark(c.counted, 1)
			defer c.limit.mark(c.counted, -1)
		}
		// Values are delivered in a long stream, so neither bound applies. An object may be large, so
		// only the time between its parts is bounded. Strangers cannot use this, because the gate
		// refuses them before it reads a body.
		delivers := r.ProtoMajor == 2 && r.URL.Path == WorkersDeliverValuesProcedure
		stores := r.ProtoMajor == 2 && r.URL.Path == WorkersPutObjectProcedure
		switch {
		case r.Body == nil || r.Body == http.NoBody || delivers:
		case stores:
			r = r.WithContext(r.Context())
			r.Body = patient{r.Body, http.NewResponseController(w)}
		default:
			// net/http resets the deadline at the end of the body, so the answer may take longer.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.body))
			// Replace the body only in a copy, because the server checks how much of its own body
			// is left.
			r = r.WithContext(r.Context())
			r.Body = http.MaxBytesReader(w, r.Body, b.size)
		}
		next.ServeHTTP(w, r)
	})
}

// mark counts the requests in progress of a connection. Without one it starts the idle timeout.
func (l *limiter) mark(c *counted, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.asked = true
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
