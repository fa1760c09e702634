package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	durable "github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
)

// TestRunWithoutAMaster: a run does not wait for a master that has gone; the next one hears of the
// newest checkpoint, and how much it has missed.
func TestRunWithoutAMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(task{})
		defer r.stop(nil)
		var heard []*control.DriveReport
		hear := func(report *control.Report) error { heard = append(heard, report.GetDrive()); return nil }
		tell := func(checkpoint uint32) {
			r.record([]byte{1})
			if checkpoint > 0 {
				r.checkpointed(durable.Event{Superstep: int(checkpoint)})
			}
			r.Flush()
		}
		for round := range uint32(2) { // of masters that go
			session, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := r.follow(t.Context(), session, hear)
				ended <- err
			}()
			synctest.Wait()
			tell(0)
			synctest.Wait()
			end()
			if err := <-ended; err == nil {
				t.Error("it follows a session that has ended")
			}
			heard = nil
			for i := range uint32(16) {
				tell([]uint32{0, 100*round + i}[(i+1)/2%2])
			}
		}
		r.do(func() (*control.DriveReport, error) { return &control.DriveReport{}, nil })
		if _, err := r.follow(t.Context(), t.Context(), hear); err != nil {
			t.Error(err)
		}
		newest, records := uint32(0), 0
		for _, d := range heard {
			if records += len(d.Records); d.Checkpoint > 0 && d.Checkpoint < newest {
				t.Errorf("checkpoint %d after %d", d.Checkpoint, newest)
			}
			newest = max(newest, d.Checkpoint)
		}
		if newest != 114 || heard[0].Checkpoint != 110 || records != mostTold ||
			len(heard[0].Log) != 1 {
			t.Errorf("found the checkpoints %d of what was missed and %d, expected 110 and 114; %d records, the log %q",
				heard[0].Checkpoint, newest, records, heard[0].Log)
		}
	})
}

// TestWhatStandsIsToldAgain: what was lost with a session is told over the next, but for what passed
// with its superstep.
func TestWhatStandsIsToldAgain(t *testing.T) {
	r := newRun(task{})
	defer r.stop(nil)
	lost := errors.New("the session broke")
	tell := func(to func(news *control.DriveReport)) (again *control.Report) {
		t.Helper()
		r.add(0, to)
		r.record([]byte{1})
		r.Flush()
		for range 2 { // a session whose reports are lost, and the next
			again = nil
			_, err := r.follow(t.Context(), t.Context(), func(report *control.Report) error {
				if again == nil {
					again = report
				}
				return lost
			})
			if err != lost {
				t.Fatalf("found %v", err)
			}
		}
		return again
	}
	shares := []*control.LoadReport{{Vertices: 3}}
	found := &control.Graph500Result{Violation: &control.Violation{Rule: 1}}
	tell(func(news *control.DriveReport) { news.Loads = shares })
	d := tell(func(news *control.DriveReport) { news.MaxSupersteps, news.Graph500 = 7, found }).GetDrive()
	if len(d.Loads) != 1 || d.MaxSupersteps != 7 || d.Graph500.GetViolation() == nil ||
		d.Running || len(d.Records) > 0 {
		t.Errorf("found %v", d)
	}
	again := tell(func(news *control.DriveReport) { news.Running = true })
	if d := again.GetDrive(); !d.Running || len(d.Loads) != 1 || again.Failure != nil {
		t.Errorf("once it runs, found %v", again)
	}
	r.late(lost)
	again = tell(func(*control.DriveReport) {})
	if again.GetFailure().GetMessage() != lost.Error() {
		t.Errorf("when a superstep takes too long, found %v", again)
	}
}
