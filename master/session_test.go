package master

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
)

// TestNewsFasterThanTaken: a worker that reports faster than the master reads has to wait. Its
// reports keep their order.
func TestNewsFasterThanTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		s := &session{name: "w", ctx: ctx, end: end, calls: map[uint64]*call{}}
		c := &control.Command{}
		k := s.begin(ctx, c, nil)
		told, taken := uint64(0), uint64(0)
		tell := func() (full bool) {
			known, full := s.answered(&control.Report{Id: c.Id, More: true, PeakMemory: told + 1})
			if !known {
				t.Error("a report that is waited for is stale")
			}
			if !full {
				told++
			}
			return full
		}
		take := func() {
			if r := <-k.reports; r.PeakMemory != taken+1 {
				t.Errorf("took %v after %d reports", r, taken)
			}
			taken++
		}
		for range maxReports {
			if tell() {
				t.Fatal("a report that there is room for has to wait")
			}
		}
		began := time.Now()
		if !tell() || time.Since(began) != roomWait {
			t.Errorf("it waited %v for room that there was not, expected %v", time.Since(began),
				roomWait)
		}
		over := make(chan bool)
		for range 2 { // an earlier receive makes no room later
			go func() { over <- tell() }()
			synctest.Wait()
			take()
			if <-over {
				t.Error("there was room, and it is not seen")
			}
		}
		for taken < told {
			take()
		}
		if len(k.reports) > 0 || ctx.Err() != nil {
			t.Error("reports are left, or the session has ended")
		}
		for range maxReports {
			tell()
		}
		s.forget(c)
		if known, full := s.answered(&control.Report{Id: c.Id, More: true}); known || full {
			t.Error("a report without a waiting call is not stale")
		}
	})
}

// TestNewsThatNobodyTakes: a waiting worker keeps its lease. It is given up if nobody reads its
// reports for long.
func TestNewsThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(
			Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		incarnation, err := s.cluster.register(s.now(),
			&control.RegisterRequest{Name: "w", Instance: "i", Protocol: control.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancelCause(t.Context())
		w := &session{name: "w", incarnation: incarnation, ctx: ctx, end: end, calls: map[uint64]*call{}}
		c := &control.Command{}
		w.begin(ctx, c, nil)
		report := &control.Report{Id: c.Id, More: true}
		for range maxReports {
			s.reported(w, report)
		}
		began := time.Now()
		if !s.reported(w, report) || ctx.Err() == nil || time.Since(began) != mostWaits*roomWait {
			t.Errorf("it waited %v, and has ended: %v; expected an end after %v", time.Since(began),
				context.Cause(ctx), mostWaits*roomWait)
		}
		if left := s.cluster.workers["w"].deadline - s.now(); left < s.options.Lease-roomWait {
			t.Errorf("%v are left of its lease of %v", left, s.options.Lease)
		}
	})
}

// TestReportBeforeTheEnd: a report that arrived before the session ended is received.
func TestReportBeforeTheEnd(t *testing.T) {
	for range 64 { // if several channels are ready, select chooses any
		ctx, end := context.WithCancelCause(t.Context())
		s := &session{name: "w", ctx: ctx, end: end, calls: map[uint64]*call{}}
		c := &control.Command{}
		k := s.begin(t.Context(), c, nil)
		for _, more := range []bool{true, false} {
			s.answered(&control.Report{Id: c.Id, More: more})
		}
		end(errSessionBroke)
		told := 0
		r, err := s.wait(t.Context(), k, func(*control.Report) error { told++; return nil })
		if err != nil || r.More || told != 1 {
			t.Fatalf("found %v, %v after %d reports, expected both received reports", r, err, told)
		}
		if r, err := s.wait(t.Context(), k, nil); err == nil {
			t.Fatalf("found %v, expected the session's end", r)
		}
	}
}

// TestReportBeforeItIsCancelled: reports that arrived before a command was cancelled are received.
// Later ones are not, because they might never end.
func TestReportBeforeItIsCancelled(t *testing.T) {
	s := &session{name: "w", ctx: t.Context(), calls: map[uint64]*call{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	c, why := &control.Command{}, errors.New("it was cancelled")
	k := s.begin(ctx, c, nil)
	report := &control.Report{Id: c.Id, More: true}
	for range maxReports {
		s.answered(report)
	}
	cancel(why)
	told := 0
	_, err := s.wait(ctx, k, func(*control.Report) error {
		if known, _ := s.answered(report); known {
			t.Error("a report that came later is taken")
		}
		told++
		return nil
	})
	if !errors.Is(err, why) || told != maxReports {
		t.Errorf("found %v after %d of %d received reports", err, told, maxReports)
	}
}

// TestAnotherSessionOfAWorker: a worker's new session ends its old one with errSessionBroke. Runs
// of the worker continue.
func TestAnotherSessionOfAWorker(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	incarnation, err := s.cluster.register(s.now(),
		&control.RegisterRequest{Name: "w", Instance: "i", Protocol: control.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	var sessions [2]*session
	for i := range sessions {
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		sessions[i] = &session{name: "w", incarnation: incarnation, ctx: ctx, end: end}
		if _, err := s.attach(sessions[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sessions[0].broken(); !errors.Is(err, errSessionBroke) ||
		sessions[1].ctx.Err() != nil {
		t.Errorf("the first session ended with %v, the second with %v", err, sessions[1].cause())
	}
}
