package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// closeTimeout is how long Close waits for readers to receive the rest.
const closeTimeout = 2 * time.Second

// Server serves a Source at an address. The caller must close it.
type Server struct {
	URL     string // of the page
	Link    string // URL, with the token if Start made it
	server  *http.Server
	closing chan struct{}
	done    chan struct{}
	once    sync.Once
}

// Start serves a Source at HOST:PORT until Close. It serves metrics, if not nil, at /metrics. An
// address that other machines can reach needs a token. For other addresses Start makes one, if
// there is none, and adds it to the link.
func Start(at string, token control.Token, source Source, metrics http.Handler) (*Server, error) {
	who := control.Credentials{Token: token, InsecureToken: true} // there is no TLS here
	if err := control.CheckListen(at, who); err != nil {
		return nil, err
	}
	if !token.Given() {
		who.Token = control.RandomToken()
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: URL(at, l.Addr(), false), closing: make(chan struct{}), done: make(chan struct{})}
	s.Link = Link(s.URL, who.Token)
	gate := &control.Gate{Credentials: who}
	site := New(source, Options{Gate: gate, Metrics: metrics, Closing: s.closing})
	s.server = control.NewHTTPServer(gate.AtHome(site), context.Background())
	go func() {
		defer close(s.done)
		_ = gate.Serve(s.server, l, slog.New(slog.DiscardHandler))
	}()
	return s, nil
}

// URL returns the URL of a listener at HOST:PORT, with the actual port. 127.0.0.1 replaces an empty
// or unspecified host. Without TLS the loopback address replaces a name that stands for it.
func URL(asked string, got net.Addr, secure bool) string {
	host, _, _ := net.SplitHostPort(asked)
	_, port, _ := net.SplitHostPort(got.String())
	ip := net.ParseIP(host)
	switch at, ok := got.(*net.TCPAddr); {
	case host == "" || ip != nil && ip.IsUnspecified():
		host = "127.0.0.1"
	case ok && ip == nil && !secure && at.IP.IsLoopback():
		host = at.IP.String() // another process may have the name's other addresses
	}
	scheme := map[bool]string{true: "https", false: "http"}[secure]
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// Link returns the link that opens the page. It has the token only if superstep made it. The user
// has a given token, so it is not shown.
func Link(url string, token control.Token) string {
	if !token.Own() {
		return url
	}
	return url + "?" + tokenKey + "=" + token.Secret()
}

// Close sends readers the last events, and closes the server. It is idempotent.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := s.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			_ = s.server.Close()
		}
		<-s.done
	})
}
