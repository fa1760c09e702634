package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// Deadlines of connections.
const (
	dialTimeout  = 3 * time.Second
	pingAfter    = 5 * time.Second // without a frame
	pingTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second // without a byte that could be written
)

// NewHTTPServer serves a handler by HTTP/1.1 and HTTP/2 without TLS, with bounds on what a caller can hold on to; its listener
// is to be one of [Limit]. Streams are bounded by leases instead.
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
			MaxConcurrentStreams: 250, PingTimeout: pingTimeout, SendPingTimeout: pingAfter, WriteByteTimeout: writeTimeout,
		},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// Deny refuses a request as the HTTP API does: JSON with why.
func Deny(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
}

// Dialer makes connections; the zero value of what takes one is TCP.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Connection is how to reach a master. Close it when done.
type Connection struct {
	Workers WorkersClient
	Cluster ClusterClient
	address string
	token   Token
	dial    Dialer
	base    *http.Transport
	*credential
	proves bool // a worker, whose token does not travel
}

// Connect prepares to talk to the master at HOST:PORT. Nothing is sent yet.
func Connect(address string, token Token, dial Dialer) (*Connection, error) {
	address = strings.TrimPrefix(address, "http://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("found the master's address %q, expected HOST:PORT, such as 127.0.0.1:7700", address)
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	transport := &http.Transport{
		DialContext: dial,
		Protocols:   new(http.Protocols),
		HTTP2:       &http.HTTP2Config{PingTimeout: pingTimeout, SendPingTimeout: pingAfter},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	given := &credential{}
	given.set(token.bearer())
	options := []connect.ClientOption{
		connect.WithInterceptors(&signer{given}),
		connect.WithReadMaxBytes(MaxMessage), connect.WithSendMaxBytes(MaxMessage),
	}
	client, url := &http.Client{Transport: transport}, "http://"+address
	return &Connection{
		Workers: NewWorkersClient(client, url, options...), Cluster: NewClusterClient(client, url, options...),
		address: address, token: token, dial: dial, base: transport, credential: given,
	}, nil
}

// Close lets go of idle connections; calls still under way end with their contexts.
func (c *Connection) Close() { c.base.CloseIdleConnections() }

// Explain words an error of a call for people: without the protocol's own words.
func Explain(address string, err error) error {
	var e *connect.Error
	var text *TextError
	switch {
	case errors.As(err, &text):
		return text
	case !errors.As(err, &e):
		return err
	case RefusalOf(err) != Refusal_KIND_UNSPECIFIED || connect.IsWireError(err):
		return &wordedError{e.Message(), e}
	case e.Code() == connect.CodeDeadlineExceeded:
		return &wordedError{fmt.Sprintf("the master at %s did not answer in time", address), e}
	case e.Code() == connect.CodeCanceled:
		return context.Canceled
	case e.Code() == connect.CodeResourceExhausted:
		return &wordedError{fmt.Sprintf("the master at %s sent too large a message: %s", address, e.Message()), e}
	case Foreign(err):
		return &wordedError{foreignText(address, e), e}
	case innermost(e) == "http2: client connection lost": // net/http says so of pings that had no answer
		return &wordedError{fmt.Sprintf("the master at %s no longer answers", address), e}
	default:
		return &wordedError{fmt.Sprintf("the master at %s cannot be reached: %s", address, innermost(e)), e}
	}
}

// wordedError is an error of a call, in words for people.
type wordedError struct {
	text  string
	cause *connect.Error
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.cause }

// innermost is the text of the last error in a chain, which names what the system said.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
