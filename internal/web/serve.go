package web

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// closeTimeout is how long readers have to take what is left when a server closes.
const closeTimeout = 2 * time.Second

// Server serves a Source at an address. Close it when done.
type Server struct {
	URL     string // of the page
	Link    string // the same, with the token if nobody gave one
	server  *http.Server
	closing chan struct{}
	done    chan struct{}
	once    sync.Once
}

// Start listens at HOST:PORT and serves a Source there until Close, and metrics, if not nil, at
// /metrics. An address that others can reach wants a token; for another one is made, which the link
// has.
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
	s.server.ErrorLog = quiet
	go func() {
		defer close(s.done)
		_ = control.Serve(s.server, l, nil)
	}()
	return s, nil
}

// URL is the address that leads to a listener at HOST:PORT: with its port, and a host that is one.
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
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// Link is what opens the page at an address: with the token in it if that was made for this machine
// alone. One that was given is not shown: who has it can type it.
func Link(url string, token control.Token) string {
	if !token.Own() {
		return url
	}
	return url + "?" + tokenKey + "=" + token.Secret()
}

// Close tells readers that no more will come, and ends. It is idempotent.
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

// quiet takes what the HTTP server says of its clients' faults, which are theirs.
var quiet = log.New(io.Discard, "", 0)
