package worker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	durable "github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
)

// reports returns the reports that a master receives from a run until it has all before serial
// until. It acknowledges some.
func reports(
	t *testing.T, r *run, wanted, until uint64, acknowledged ...uint64,
) (heard []*control.DriveReport, text []string) {
	t.Helper()
	enough := errors.New("enough")
	_, err := r.follow(t.Context(), t.Context(), wanted, func(report *control.Report) error {
		d := report.GetDrive()
		if heard = append(heard, d); d.Serial == 0 {
			text = append(text, d.Log...)
		}
		if d.Next() >= until {
			for _, next := range acknowledged {
				r.acknowledge(next)
			}
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("found %v", err)
	}
	return heard, text
}

// TestRunWithoutAMaster: a run does not wait for a lost master. The worker's next session gets all
// reports that the previous session did not receive. A new master also gets reports that the old
// one may not have passed on. Both get the newest checkpoint. Dropped reports are counted.
func TestRunWithoutAMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(task{epoch: 2})
		defer r.stop(nil)
		first := uint64(2)<<control.EpochBits | 1
		tell := func(checkpoint, bytes int) {
			r.record(make([]byte, bytes))
			if checkpoint > 0 {
				r.checkpointed(durable.Event{Superstep: checkpoint})
			}
			r.mu.Lock()
			r.report()
			r.mu.Unlock()
		}
		for i := range 10 {
			tell(i, 1)
		}
		check := func(wanted uint64, records, from, checkpoint int, missing string, acknowledged ...uint64) {
			t.Helper()
			heard, text := reports(t, r, wanted, r.serial, acknowledged...)
			newest, found := uint32(0), 0
			for _, d := range heard {
				if len(d.Records) > 0 && d.Serial != first+uint64(from+found) {
					t.Errorf("serial %d, expected %d", d.Serial, first+uint64(from+found))
				}
				found += len(d.Records)
				newest = max(newest, d.Checkpoint)
			}
			if found != records || newest != uint32(checkpoint) ||
				strings.Join(text, "|") != missing {
				t.Errorf("from %d on, found %d records, the checkpoint %d, %q", wanted,
					found, newest, text)
			}
		}
		check(0, 10, 0, 9, "", first+8) // nothing was acknowledged before
		check(0, 10, 0, 9, "", first+2) // a new master, without an acknowledgement either
		check(first+2, 8, 2, 9, "")     // its session broke
		check(0, 10, 0, 9, "", first+5, first+8)
		check(first+8, 2, 8, 9, "")
		check(0, 5, 5, 9, "")
		for range 12 { // 4 of these, and 5 earlier ones, exceed the limit
			tell(0, mostNews)
		}
		check(first+9, 7, 15, 9, "6 records of supersteps, lines and stages are missing here: "+
			"no master was there to hear of them")
		check(0, 7, 15, 9, "10 records of supersteps, lines and stages are missing here: "+
			"no master was there to hear of them")
	})
}

// TestRunWaitsForWhoFollows: a run waits for a slow follower and drops nothing. A new follower
// replaces the old one.
func TestRunWaitsForWhoFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(task{})
		defer r.stop(nil)
		take, heard, ended := make(chan struct{}), 0, make(chan error, 1)
		go func() {
			_, err := r.follow(t.Context(), t.Context(), 0, func(report *control.Report) error {
				<-take
				heard += len(report.GetDrive().Records)
				return nil
			})
			ended <- err
		}()
		synctest.Wait()
		told := 0
		go r.do(func() (*control.DriveReport, error) {
			for ; told < 40; told++ {
				r.record(make([]byte, mostNews/2+1))
			}
			return &control.DriveReport{}, nil
		})
		synctest.Wait()
		if told > 4 {
			t.Errorf("it recorded %d supersteps while no report was taken", told)
		}
		close(take)
		if err := <-ended; err != nil || heard != 40 {
			t.Errorf("found %d records, %v", heard, err)
		}

		r = newRun(task{})
		go func() {
			_, err := r.follow(t.Context(), t.Context(), 0, nil)
			ended <- err
		}()
		synctest.Wait()
		r.record([]byte{1})
		if all, _ := reports(t, r, 0, r.serial+1); len(all) != 1 {
			t.Errorf("found %v", all)
		}
		if err := <-ended; !errors.Is(err, errSuperseded) {
			t.Errorf("found %v", err)
		}
	})
}

// TestWhatStandsIsToldAgain: facts lost with a session are sent again in the next one, except those
// of a superstep, which are outdated.
func TestWhatStandsIsToldAgain(t *testing.T) {
	r := newRun(task{})
	defer r.stop(nil)
	lost := errors.New("the session broke")
	tell := func(to func(news *control.DriveReport)) (first *control.Report) {
		t.Helper()
		r.add(0, to)
		r.record([]byte{1})
		r.mu.Lock()
		for r.report(); len(r.kept) > 0; {
			r.drop()
		}
		r.mu.Unlock()
		_, err := r.follow(t.Context(), t.Context(), 0, func(report *control.Report) error {
			first = report
			return lost
		})
		if err != lost {
			t.Fatalf("found %v", err)
		}
		return first
	}
	shares := []*control.LoadReport{{Vertices: 3}}
	tell(func(news *control.DriveReport) { news.Loads = shares })
	d := tell(func(news *control.DriveReport) { news.MaxSupersteps = 7 }).GetDrive()
	if len(d.Loads) != 1 || d.MaxSupersteps != 7 || d.Running || len(d.Records) > 0 {
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

// TestFiguresAreNotOlderAgain: repeated Graph500 results are never older than those that the master
// has.
func TestFiguresAreNotOlderAgain(t *testing.T) {
	r := newRun(task{})
	defer r.stop(nil)
	for n := range 3 {
		roots := make([]uint64, n+1)
		r.finds(&control.Graph500Result{Roots: roots})
		r.record([]byte{1})
		r.mu.Lock()
		r.report()
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.drop() // the first report is received, the others may not be
	r.mu.Unlock()
	for _, wanted := range []uint64{0, 3, r.serial} {
		lost, roots := errors.New("the session broke"), []int(nil)
		_, _ = r.follow(t.Context(), t.Context(), wanted, func(report *control.Report) error {
			if found := report.GetDrive().Graph500; found != nil {
				roots = append(roots, len(found.Roots))
			}
			if report.GetDrive().Next() == r.serial || len(roots) > 0 && wanted == r.serial {
				return lost
			}
			return nil
		})
		if len(roots) == 0 || slices.Min(roots) < 3 {
			t.Errorf("lost from report %d on: the reports name the searches %v, expected 3", wanted,
				roots)
		}
	}
}

// TestTheEndIsToldLast: if a session breaks too early, the next one gets the remaining reports,
// then the newest checkpoint and the reason for the run's failure.
func TestTheEndIsToldLast(t *testing.T) {
	r := newRun(task{epoch: 1})
	defer r.stop(nil)
	r.record([]byte{1})
	heard := r.serial + 1
	reports(t, r, 0, heard, heard, heard)
	r.record([]byte{2})
	r.log("a line")
	r.checkpointed(durable.Event{Superstep: 7})
	r.late(errors.New("it takes too long"))
	for _, wanted := range []uint64{0, heard} {
		heard, lost := []string{}, errors.New("the session broke")
		_, err := r.follow(t.Context(), t.Context(), wanted, func(report *control.Report) error {
			d := report.GetDrive()
			heard = append(heard, d.Log...)
			for range d.Records {
				heard = append(heard, "a record")
			}
			if d.Checkpoint > 0 {
				heard = append(heard, "a checkpoint")
			}
			if report.Failure != nil {
				heard = append(heard, "the end")
				return lost
			}
			return nil
		})
		found := strings.Join(heard, ", ")
		if err != lost || found != "a line, a record, a checkpoint, the end" {
			t.Errorf("from %d on, found %s, %v", wanted, found, err)
		}
	}
}
