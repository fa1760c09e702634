package control

import (
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
)

// RefusedError is the master's refusal of a worker.
type RefusedError struct {
	Kind Refusal_Kind
	Text string
	Wait time.Duration // time to wait before another attempt; 0 means soon
}

func (e *RefusedError) Error() string { return e.Text }

// Refuse makes a RefusedError.
func Refuse(kind Refusal_Kind, format string, args ...any) *RefusedError {
	return &RefusedError{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// codes are the status codes for clients that do not read refusals.
var codes = map[Refusal_Kind]connect.Code{
	Refusal_KIND_DUPLICATE: connect.CodeAlreadyExists, Refusal_KIND_HELD: connect.CodeUnavailable,
	Refusal_KIND_VERSION:  connect.CodeFailedPrecondition,
	Refusal_KIND_PROGRAMS: connect.CodeFailedPrecondition,
	Refusal_KIND_FENCED:   connect.CodeAborted, Refusal_KIND_LAPSED: connect.CodeAborted,
	Refusal_KIND_UNKNOWN: connect.CodeNotFound, Refusal_KIND_INVALID: connect.CodeInvalidArgument,
}

// Wire converts a refusal for sending. It returns other errors unchanged.
func Wire(err error) error {
	var r *RefusedError
	if !errors.As(err, &r) {
		return err
	}
	e := connect.NewError(codes[r.Kind], r)
	refusal := &Refusal{Kind: r.Kind, WaitMilliseconds: uint32(r.Wait.Milliseconds())}
	if detail, err := connect.NewErrorDetail(refusal); err == nil {
		e.AddDetail(detail)
	}
	return e
}

// RefusalOf returns the kind of refusal in a call's error, or unspecified.
func RefusalOf(err error) Refusal_Kind { return refusalIn(err).GetKind() }

// WaitOf returns the waiting time of the refusal in a call's error, or 0.
func WaitOf(err error) time.Duration {
	return time.Duration(refusalIn(err).GetWaitMilliseconds()) * time.Millisecond
}

func refusalIn(err error) *Refusal {
	var e *connect.Error
	if !errors.As(err, &e) {
		return nil
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if r, ok := v.(*Refusal); ok {
				return r
			}
		}
	}
	return nil
}

// Final reports whether a refused worker should give up.
func Final(err error) bool {
	switch RefusalOf(err) {
	case Refusal_KIND_DUPLICATE, Refusal_KIND_VERSION, Refusal_KIND_PROGRAMS, Refusal_KIND_FENCED,
		Refusal_KIND_INVALID:
		return true
	}
	code := connect.CodeOf(err)
	return code == connect.CodeUnauthenticated || code == connect.CodePermissionDenied
}
