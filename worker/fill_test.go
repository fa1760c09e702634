package worker

import (
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// TestUnread: if the master is away, or cannot read an input now, the job is tried again with that
// reason. A refusal by the master is final.
func TestUnread(t *testing.T) {
	q := &queue{session: &session{worker: &worker{}}}
	for _, c := range []struct {
		err    error
		absent bool
		want   string
	}{
		{connect.NewError(connect.CodeUnavailable, errors.New("x")), true, "the connection to the master broke"},
		{connect.NewWireError(connect.CodeCanceled, errors.New("x")), true, "the connection to the master broke"},
		{connect.NewWireError(connect.CodeUnavailable, errors.New("x")), true, "the master cannot read it now: x"},
		{connect.NewWireError(connect.CodeDataLoss, errors.New("x")), false, "x"},
	} {
		err := unread(c.err)
		if f := q.failure(err); f.Absent != c.absent || !strings.HasPrefix(f.Message, c.want) ||
			c.want != "the connection to the master broke" && f.Message != c.want {
			t.Errorf("%v: found %v, expected %q", c.err, f, c.want)
		}
	}
}
