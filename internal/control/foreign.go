package control

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
)

// foreignTexts occur in errors of HTTP/2 if the server speaks another protocol.
var foreignTexts = []string{
	"malformed HTTP", "looked like an HTTP/1.1 header", unmet, "invalid content-type",
	"http2: frame too large", "PROTOCOL_ERROR", "FRAME_SIZE_ERROR",
}

// foreignCodes are the codes that connect derives from an HTTP status if the answer has no error of
// a master.
var foreignCodes = []connect.Code{
	connect.CodeUnimplemented, connect.CodeUnauthenticated, connect.CodePermissionDenied,
	connect.CodeNotFound,
}

// unmet occurs in the error of a connection that ended before any data was received.
const unmet = "http2: client conn could not be established"

// Foreign reports whether something other than a master answered a call.
func Foreign(err error) bool {
	switch {
	case connect.IsWireError(err) || err == nil:
		return false
	case noTLS(err) || distrust(err) != nil || slices.Contains(foreignCodes, connect.CodeOf(err)):
		return true
	}
	return slices.ContainsFunc(foreignTexts,
		func(text string) bool { return strings.Contains(err.Error(), text) })
}

// WantsTLS is the answer of Go's TLS server to a client without TLS.
const WantsTLS = "Client sent an HTTP request to an HTTPS server."

var errWantsTLS = errors.New(
	"it wants TLS: give --tls-ca, and --tls-cert and --tls-key or --token-file")

// noTLS reports whether a handshake failed because the server does not speak TLS.
func noTLS(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch)
}

// distrust returns why a certificate was not accepted as the master's, or nil.
func distrust(err error) (why *certs.TrustError) {
	_ = errors.As(err, &why)
	return why
}

func foreignText(address string, cause error) string {
	text := "is not a master: " + innermost(cause)
	switch {
	case errors.Is(cause, errWantsTLS):
		text = "wants TLS: give --tls-ca, and --tls-cert and --tls-key or --token-file"
	case noTLS(cause):
		text = "has no TLS: start the master with --tls-cert, or omit --tls-ca and the like"
	case distrust(cause) != nil:
		text = "is not trusted: " + distrust(cause).Error()
	case connect.CodeOf(cause) == connect.CodeUnauthenticated:
		text = "wants a token: " + innermost(cause)
	case silent(cause) || strings.Contains(cause.Error(), unmet):
		text = "closes connections without an answer: " +
			"it is not a master, or has too many connections"
	}
	return fmt.Sprintf("the server at %s %s", address, text)
}

// ForeignError means that the server at Address is not a master.
type ForeignError struct {
	Address string
	Cause   error
}

// Silent reports whether the server closed the connection without an answer. A proxy does so if the
// master behind it does not listen yet.
func (e *ForeignError) Silent() bool { return silent(e.Cause) }

func silent(cause error) bool {
	return errors.Is(cause, io.EOF) || errors.Is(cause, syscall.ECONNRESET)
}

func (e *ForeignError) Error() string { return foreignText(e.Address, e.Cause) }
func (e *ForeignError) Unwrap() error { return e.Cause }

// probeTimeout bounds a probe.
const probeTimeout = 2 * time.Second

// Probe checks what kind of server is at the address. A failed call does not tell reliably, because
// the server may close the connection before its answer is read. Probe returns a ForeignError if
// the server is not a master, and nil if it is one or there is no server.
func (c *Connection) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/healthz", nil)
	if err != nil {
		return nil
	}
	r.Close = true
	conn, err := c.open(ctx, http1)
	if noTLS(err) || distrust(err) != nil {
		return &ForeignError{c.address, err}
	}
	if err != nil {
		return nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_ = r.Write(conn) // a server that closes the connection early may have sent an answer
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 64<<10)), r)
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &ForeignError{c.address, io.EOF}
	case err != nil:
		return &ForeignError{c.address, err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64))
	if err == nil && answer.StatusCode == http.StatusOK && strings.TrimSpace(string(text)) == "ok" {
		return nil
	}
	if strings.TrimSpace(string(text)) == WantsTLS {
		return &ForeignError{c.address, errWantsTLS}
	}
	return &ForeignError{c.address, fmt.Errorf("it answers %s to GET /healthz", answer.Status)}
}

// maxReason bounds the text of a refusal.
const maxReason = 1 << 10

// refusedBy makes the error of a request that was answered 401 or 403, with the reason.
func refusedBy(answer *http.Response) error {
	code := connect.CodeUnauthenticated
	if answer.StatusCode == http.StatusForbidden {
		code = connect.CodePermissionDenied
	}
	if answer.Header.Get(refusedHeader) == "" {
		return connect.NewError(code, errToken)
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason)) // a partial text will do
	return connect.NewWireError(code, errors.New(Text(strings.TrimSpace(string(text)), MaxText)))
}
