package master

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/superstep-go/superstep/internal/control"
)

// TestNewsFasterThanTaken: a worker that tells more than is taken has to wait for room, and is given up when there is none for long.
func TestNewsFasterThanTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		s := &session{name: "w", ctx: ctx, end: end, calls: map[uint64]*call{}}
		c := &control.Command{}
		k := s.begin(ctx, c, nil)
		tell := func() bool { return s.answered(&control.Report{Id: c.Id, More: true}) }
		for range maxReports {
			if !tell() {
				t.Fatal("a report that there is room for was refused")
			}
		}
		told := make(chan bool)
		go func() { told <- tell() }()
		synctest.Wait()
		if n := len(s.taken(k)); n != maxReports {
			t.Errorf("found %d reports, expected %d", n, maxReports)
		}
		if !<-told || len(s.taken(k)) != 1 || ctx.Err() != nil {
			t.Error("the report that waited for room is lost")
		}
		for range maxReports { // taken before is no room now
			tell()
		}
		go func() { told <- tell() }()
		synctest.Wait()
		s.taken(k)
		if !<-told || ctx.Err() != nil {
			t.Error("a worker is given up though its reports are taken")
		}
		for range maxReports - 1 {
			tell()
		}
		if tell() || ctx.Err() == nil {
			t.Error("a worker is not given up whose reports nobody takes")
		}
	})
}
