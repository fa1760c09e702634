package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestUnread: where the master is away, or cannot read now, the job begins again, and the reason
// says which; what the master refuses is final.
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

// TestEachPieceOfAColumnIsBounded: a fill takes as long as pieces come in time, and a piece that
// does not come ends the run.
func TestEachPieceOfAColumnIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var groups []*collective.Group
		links := memlink.New(2, nil)
		for rank := range 2 {
			g, err := collective.NewGroup(links.Link(rank), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, g)
		}
		p := &attempt{
			run: newRun(task{}), group: groups[1],
			asked: &control.Run{Limit: uint64(time.Minute)},
		}
		go func() { // the first worker
			for range 3 {
				<-time.After(40 * time.Second)
				call := collective.Call{Tag: tagFill, Bytes: control.ChunkSize}
				if _, err := groups[0].Broadcast(p.run.ctx, call, 0, []byte("x")); err != nil {
					t.Error(err)
				}
			}
		}()
		began, pieces := time.Now(), 0
		ctx, cancel := context.WithTimeout(p.run.ctx, time.Hour)
		defer cancel()
		err := p.readColumn(ctx, kernel.Property{}, func([]byte) error {
			pieces++
			return nil
		})
		cause := context.Cause(p.run.ctx)
		if took := time.Since(began); err == nil || pieces != 3 || took != 3*time.Minute ||
			cause == nil || cause.Error() != "fill: it took longer than 1m0s" {
			t.Errorf("%d pieces, and after %v %v, %v", pieces, took, err, cause)
		}
	})
}
