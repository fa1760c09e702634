package control

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
)

// Deadlines of connections.
const (
	dialTimeout  = 3 * time.Second
	pingAfter    = 5 * time.Second // without a received frame
	pingTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second // without progress of a write
)

// NewHTTPServer makes a server for HTTP/1.1 and HTTP/2 that bounds the resources of each caller;
// [Gate.Serve] accepts its connections. Leases bound streams instead.
func NewHTTPServer(h http.Handler, base context.Context) *http.Server {
	return newHTTPServer(h, base, usual)
}

func newHTTPServer(h http.Handler, base context.Context, bounds limits) *http.Server {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Deny(w, http.StatusForbidden, "the request is another site's")
	}))
	s := &http.Server{
		Handler:           bounds.handle(origins.Handler(h)),
		ReadHeaderTimeout: bounds.header,
		IdleTimeout:       bounds.idle,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 250, PingTimeout: pingTimeout, SendPingTimeout: pingAfter,
			WriteByteTimeout: writeTimeout,
		},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.Protocols.SetHTTP2(true)
	return s
}

// Protocol names of HTTP in TLS.
const (
	http1 = "http/1.1"
	http2 = "h2"
)

// Serve serves connections of a listener, within limits, until the server is closed. It uses TLS if
// there are certificates. The TLS handshake counts as part of a request's head, whose time is
// limited. Connections beyond the limits count as refusals.
func (g *Gate) Serve(s *http.Server, l net.Listener, log *slog.Logger) error {
	s.ErrorLog = g.errorLog(log)
	busy := make(chan struct{}, 1)
	l = newLimiter(l, usual, func(from string) {
		select {
		case busy <- struct{}{}: // to tell may take long, and accepting does not wait
			go func() {
				g.Refuse(from, errTooMany)
				<-busy
			}()
		default:
		}
	})
	if g.TLS == nil {
		return s.Serve(l)
	}
	s.TLSConfig = g.TLS.Server(http2, http1)
	return s.ServeTLS(l, "", "")
}

// Deny rejects a request in the format of the HTTP API: JSON with the reason.
func Deny(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
}

// Dialer opens connections. Where one is optional, nil means TCP.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Connection is a client of a master. The caller must close it.
type Connection struct {
	Workers WorkersClient
	Cluster ClusterClient
	address string
	url     string
	host    string
	who     Credentials
	dial    Dialer
	base    *http.Transport
	credential
	number atomic.Int64              // version of the certificates of the current connections
	proved atomic.Pointer[time.Time] // time of the last proof
}

// Connect prepares a client of the master at HOST:PORT. It does not connect yet.
func Connect(address string, who Credentials, dial Dialer) (*Connection, error) {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf(
			"found the master's address %q, expected HOST:PORT, such as 127.0.0.1:7700", address)
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if to := dial; host == "localhost" {
		// Masters listen at 127.0.0.1. localhost may also resolve to ::1, where another user's
		// server could listen.
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return to(ctx, "tcp", "127.0.0.1:"+port)
		}
	}
	c := &Connection{
		address: address, url: "http://" + address, host: host, who: who, dial: dial,
	}
	c.base = &http.Transport{
		DialContext: dial, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{PingTimeout: pingTimeout, SendPingTimeout: pingAfter},
	}
	if who.TLS == nil {
		c.base.Protocols.SetUnencryptedHTTP2(true)
	} else {
		c.url = "https://" + address
		c.base.Protocols.SetHTTP2(true)
		if who.Token.Given() {
			c.set("Bearer " + who.Token.text)
		}
		c.base.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.open(ctx, http2)
		}
	}
	options := []connect.ClientOption{
		connect.WithCodec(codec{}),
		connect.WithReadMaxBytes(MaxMessage), connect.WithSendMaxBytes(MaxMessage),
	}
	client := &http.Client{Transport: signed{c}}
	// The proof is for this master.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Workers, c.Cluster = NewWorkersClient(client, c.url, options...),
		NewClusterClient(client, c.url, options...)
	return c, nil
}

// Address returns the master's address.
func (c *Connection) Address() string { return c.address }

// Addresses splits a comma-separated list of masters.
func Addresses(text string) []string {
	all := strings.Split(text, ",")
	for i, address := range all {
		address = strings.TrimPrefix(strings.TrimSpace(address), "http://")
		all[i] = strings.TrimPrefix(address, "https://")
	}
	return all
}

// renew closes idle connections that were made with earlier certificates, which the master may no
// longer accept.
func (c *Connection) renew() {
	if c.who.TLS == nil {
		return
	}
	if now := int64(c.who.TLS.Number()); c.number.Swap(now) != now {
		c.base.CloseIdleConnections()
	}
}

// open opens a connection to the master for a protocol, with TLS if there are certificates.
func (c *Connection) open(ctx context.Context, protocol string) (net.Conn, error) {
	conn, err := c.dial(ctx, "tcp", c.address)
	if err != nil || c.who.TLS == nil {
		return conn, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	secure := tls.Client(conn, c.who.TLS.Client(c.host, certs.Master, protocol))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// Close closes idle connections. Calls in progress end with their contexts.
func (c *Connection) Close() { c.base.CloseIdleConnections() }

// Explain is the function Explain for this master.
func (c *Connection) Explain(err error) error { return Explain(c.address, err) }

// Explain converts an error of a call for users, without terms of the RPC protocol.
func Explain(address string, err error) error {
	var e *connect.Error
	var text *TextError
	switch {
	case errors.As(err, &text):
		return text
	case errors.As(err, new(*wordedError)):
		return err
	case !errors.As(err, &e):
		return err
	case RefusalOf(err) != Refusal_KIND_UNSPECIFIED || connect.IsWireError(err):
		return &wordedError{e.Message(), e}
	}
	what := "cannot be reached: " + innermost(e)
	switch {
	case e.Code() == connect.CodeDeadlineExceeded:
		what = "did not answer in time"
	case e.Code() == connect.CodeCanceled:
		return context.Canceled
	case e.Code() == connect.CodeResourceExhausted:
		what = "sent too large a message: " + e.Message()
	case Foreign(err):
		return &wordedError{foreignText(address, e), e}
	// net/http returns this for a ping without an answer.
	case innermost(e) == "http2: client connection lost":
		what = "no longer answers"
	}
	return &wordedError{fmt.Sprintf("the master at %s %s", address, what), e}
}

// Closed explains the error of a call whose connection was closed while its context was still
// valid. Such an error otherwise looks like context.Canceled.
func Closed(address string, err error) error {
	if e := new(connect.Error); errors.As(err, &e) && e.Code() == connect.CodeCanceled {
		return &wordedError{fmt.Sprintf("the master at %s closed the connection", address), e}
	}
	return err
}

// Worded returns an error with this text that wraps cause.
func Worded(text string, cause error) error { return &wordedError{text, cause} }

type wordedError struct {
	text  string
	cause error
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.cause }

// innermost returns the text of the last error in a chain, which is usually the system's.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
