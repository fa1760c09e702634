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

// foreignTexts are in errors of HTTP/2 when the other end speaks something else.
var foreignTexts = []string{
	"malformed HTTP", "looked like an HTTP/1.1 header", unmet, "invalid content-type",
	"http2: frame too large", "PROTOCOL_ERROR", "FRAME_SIZE_ERROR",
}

// foreignCodes are of an HTTP status without a message of ours.
var foreignCodes = []connect.Code{connect.CodeUnimplemented, connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeNotFound}

// unmet is in the error of a connection that ended before anything was said.
const unmet = "http2: client conn could not be established"

// Foreign reports whether a call was answered by something else than a master.
func Foreign(err error) bool {
	switch {
	case connect.IsWireError(err) || err == nil:
		return false
	case noTLS(err) || distrust(err) != nil || slices.Contains(foreignCodes, connect.CodeOf(err)):
		return true
	}
	return slices.ContainsFunc(foreignTexts, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// WantsTLS is what Go's server says to who speaks without TLS.
const WantsTLS = "Client sent an HTTP request to an HTTPS server."

var errWantsTLS = errors.New("it wants TLS: give --tls-ca, and --tls-cert and --tls-key or --token-file")

// noTLS reports whether what answered a handshake does not speak TLS.
func noTLS(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch)
}

// distrust returns why a certificate was not taken for the master's, or nil.
func distrust(err error) (why *certs.TrustError) {
	_ = errors.As(err, &why)
	return why
}

func foreignText(address string, cause error) string {
	switch {
	case errors.Is(cause, errWantsTLS):
		return fmt.Sprintf("what answers at %s wants TLS: give --tls-ca, and --tls-cert and --tls-key or --token-file", address)
	case noTLS(cause):
		return fmt.Sprintf("what answers at %s has no TLS: start the master with --tls-cert, or leave --tls-ca and the like out", address)
	case distrust(cause) != nil:
		return fmt.Sprintf("what answers at %s is not to be trusted: %v", address, distrust(cause))
	case connect.CodeOf(cause) == connect.CodeUnauthenticated:
		return fmt.Sprintf("what answers at %s wants a token: %s", address, innermost(cause))
	case silent(cause) || strings.Contains(cause.Error(), unmet):
		return fmt.Sprintf("what answers at %s closes connections without a word: it is not a master, or has too many", address)
	}
	return fmt.Sprintf("what answers at %s is not a master: %s", address, innermost(cause))
}

// ForeignError says that something answers, and is not a master.
type ForeignError struct {
	Address string
	Cause   error
}

// Silent reports whether it closed the connection without a word, as something does that stands
// before a master which does not listen yet.
func (e *ForeignError) Silent() bool { return silent(e.Cause) }

func silent(cause error) bool {
	return errors.Is(cause, io.EOF) || errors.Is(cause, syscall.ECONNRESET)
}

func (e *ForeignError) Error() string { return foreignText(e.Address, e.Cause) }
func (e *ForeignError) Unwrap() error { return e.Cause }

// probeTimeout bounds a look at who answers.
const probeTimeout = 2 * time.Second

// Probe looks who is at the address: a call that fails does not say so reliably, for what answers
// may close the connection before its answer is read. It returns a ForeignError if that is
// something else than a master, else nil, also if nobody answers.
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
	_ = r.Write(conn) // what closes the connection before it has read this may have said something
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

// maxReason bounds why a request was refused, as text.
const maxReason = 1 << 10

// refusedBy is the error of a request that was answered 401 or 403, with why.
func refusedBy(answer *http.Response) error {
	code := connect.CodeUnauthenticated
	if answer.StatusCode == http.StatusForbidden {
		code = connect.CodePermissionDenied
	}
	if answer.Header.Get(refusedHeader) == "" {
		return connect.NewError(code, errToken)
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason)) // what there is of it will do
	return connect.NewWireError(code, errors.New(Text(strings.TrimSpace(string(text)), MaxText)))
}
