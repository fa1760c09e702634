package bsp

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// seen is a journal that counts records of supersteps, each with two partitions, and returns an
// error for one of them.
type seen struct {
	t       *testing.T
	records int
	refuse  int
}

var errRefused = errors.New("the disk is full")

func (s *seen) Record(e trace.Event) error {
	r, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	if r.Superstep != s.records || len(r.Partitions) != 2 || r.Job != "job" {
		s.t.Errorf("found superstep %d of %s with %d partitions: expected %d", r.Superstep, r.Job,
			len(r.Partitions), s.records)
	}
	for i, p := range r.Partitions {
		if p.Partition != i || p.Computed != r.Superstep+i || len(p.Peers) != 1 ||
			p.Peers[0].Partition != 1-i || p.Peers[0].Messages != r.Superstep {
			s.t.Errorf("superstep %d: found %+v of partition %d", r.Superstep, p, i)
		}
	}
	if s.records++; r.Superstep == s.refuse {
		return errRefused
	}
	return nil
}

// ran adds a superstep of two partitions with this duration.
func ran(k *recorder, superstep int, took time.Duration) error {
	c := &coordinator{command: Command{Superstep: superstep}, load: new(delivery.Load)}
	var reports []*Report
	for p := range 2 {
		reports = append(reports, &Report{Partition: record.Partition{
			Partition: p, Computed: superstep + p,
			Peers: []record.Peer{{Partition: 1 - p, Messages: superstep}},
		}})
	}
	return k.add(c, c.pending(reports, took.Seconds(), time.Now()), reports)
}

func TestRecordsAreMadeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &seen{t: t, refuse: -1}
		k := newRecorder(s, "job")
		expect := func(supersteps int) {
			t.Helper()
			k.mu.Lock()
			defer k.mu.Unlock()
			if s.records != supersteps {
				t.Errorf("found %d records, expected %d", s.records, supersteps)
			}
		}
		next := 0
		keep := func(took time.Duration) {
			t.Helper()
			if err := ran(k, next, took); err != nil {
				t.Fatal(err)
			}
			next++
		}
		keep(time.Millisecond)
		keep(time.Millisecond)
		expect(0)
		<-time.After(flushAfter)
		synctest.Wait()
		expect(2) // although the third superstep is long
		keep(flushAfter)
		expect(3)
		for range maxRows {
			keep(time.Microsecond)
		}
		expect(3 + maxRows/2)
		if err := k.end(); err != nil {
			t.Fatal(err)
		}
		expect(next)
		if k.waiting {
			t.Error("the timer is left")
		}
	})
}

func TestARefusedRecordEndsTheRecording(t *testing.T) {
	s := &seen{t: t, refuse: 1}
	k := newRecorder(s, "job")
	for superstep := range 3 {
		if err := ran(k, superstep, time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.end(); !errors.Is(err, errRefused) || s.records != 2 {
		t.Errorf("found %v after %d records", err, s.records)
	}
	s.records = 0 // another run
	if err := errors.Join(ran(k, 0, flushAfter), k.end()); err != nil || s.records != 1 {
		t.Errorf("found %v after %d records of another run", err, s.records)
	}
	if err := ran(k, 1, flushAfter); !errors.Is(err, errRefused) {
		t.Errorf("found %v of a superstep that is told of at once", err)
	}
}

// fails is a program whose Coordinate panics before a superstep.
type fails struct{ at int }

func (f fails) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == f.at {
		panic("Coordinate")
	}
}

// single runs supersteps of a graph with one vertex, which sends a message to itself.
type single struct{}

func (single) Superstep(_ context.Context, c *Command) ([]*Report, error) {
	return []*Report{{
		Partition: record.Partition{Computed: 1, Delivered: c.Superstep},
		Counts:    Counts{Active: 1, Sends: 1, Unfinished: 1},
	}}, nil
}
func (single) Failed() error { return nil }

// TestTheRecordBeforeAPanicOfCoordinateIsMade: if Coordinate panics, the superstep before it has
// ended, and its record is made.
func TestTheRecordBeforeAPanicOfCoordinateIsMade(t *testing.T) {
	var events []trace.Event
	journal := journalFunc(func(e trace.Event) error {
		if s, ok := e.(*record.Superstep); ok {
			e = s.Clone()
		}
		events = append(events, e)
		return nil
	})
	facts := []*Facts{{
		Partitions: 1, Load: delivery.Load{Vertices: 1, Partitions: 1, Grid: graph.Of(1)},
	}}
	d, err := New(&Program{Name: "fails", Coordinate: fails{2}}, Options{Trace: journal}, facts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Run(t.Context(), single{})
	if failed := new(ProgramError); !errors.As(err, &failed) || failed.Value != "Coordinate" {
		t.Fatalf("found %v", err)
	}
	var supersteps []int
	for _, e := range events {
		if s, ok := e.(*record.Superstep); ok {
			supersteps = append(supersteps, s.Superstep)
			if len(s.Partitions) != 1 || s.Partitions[0].Delivered != s.Superstep {
				t.Errorf("found %+v of superstep %d", s.Partitions, s.Superstep)
			}
		}
	}
	end, ok := events[len(events)-1].(*trace.End)
	if !slices.Equal(supersteps, []int{0, 1}) || !ok || end.State != trace.Failed {
		t.Errorf("found records of supersteps %d, expected 0 and 1, and the end %+v", supersteps,
			end)
	}
}

// journalFunc is a function as a journal.
type journalFunc func(e trace.Event) error

func (f journalFunc) Record(e trace.Event) error { return f(e) }
