package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// foreignTexts are in errors of HTTP/2 when the other end speaks something else.
var foreignTexts = []string{
	"malformed HTTP", "looked like an HTTP/1.1 header", "http2: client conn could not be established", "invalid content-type",
	"http2: frame too large", "PROTOCOL_ERROR", "FRAME_SIZE_ERROR",
}

// Foreign reports whether a call was answered by something else than a master.
func Foreign(err error) bool {
	if connect.IsWireError(err) || err == nil {
		return false
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented, connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeNotFound:
		return true // an HTTP status, without a message of ours
	}
	for _, text := range foreignTexts {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

func foreignText(address string, cause error) string {
	if connect.CodeOf(cause) == connect.CodeUnauthenticated {
		return fmt.Sprintf("what answers at %s wants a token: %s", address, innermost(cause))
	}
	return fmt.Sprintf("what answers at %s is not a master: %s", address, innermost(cause))
}

// ForeignError says that something answers, and is not a master.
type ForeignError struct {
	Address string
	Cause   error
}

// Silent reports whether it closed the connection without a word, as something does that stands before a master which does
// not listen yet.
func (e *ForeignError) Silent() bool {
	return errors.Is(e.Cause, io.EOF) || errors.Is(e.Cause, syscall.ECONNRESET)
}

func (e *ForeignError) Error() string { return foreignText(e.Address, e.Cause) }
func (e *ForeignError) Unwrap() error { return e.Cause }

// probeTimeout bounds a look at who answers.
const probeTimeout = 2 * time.Second

// Probe looks who is at the address: a call that fails does not say so reliably, for what answers may close the connection
// before its answer is read. It returns a ForeignError if that is something else than a master, else nil, also if nobody
// answers.
func (c *Connection) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+"/healthz", nil)
	if err != nil {
		return nil
	}
	r.Close = true
	conn, err := c.dial(ctx, "tcp", c.address)
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
	return &ForeignError{c.address, fmt.Errorf("it answers %s to GET /healthz", answer.Status)}
}
