package master

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestNewsOnASlowDisk: while the disk delays the record that a job is running, reports of its
// workers are accepted before the session times out. A cancelled job does not wait.
func TestNewsOnASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(
			Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.gone()
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := func() *run {
			announced := &batch{done: make(chan struct{})}
			return &run{
				server: s, job: &job{}, id: "00aa-1", spec: &jobspec.Spec{}, announced: announced,
				heard: map[string]uint64{}, team: []*control.Placement{{Worker: "w"}},
			}
		}
		r, began := waiting(), time.Now()
		for range mostWaits {
			if err := r.drives(ctx, &control.DriveReport{}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > 2*roomWait {
			t.Errorf("%d reports took %v", mostWaits, took)
		}
		cancel(errors.New("it was cancelled"))
		began = time.Now()
		if err := waiting().drives(ctx, &control.DriveReport{}); err != nil ||
			time.Since(began) > 0 {
			t.Errorf("found %v, after %v", err, time.Since(began))
		}
	})
}

// TestListsParseNothing: lists use the jobs in memory. A job's text is not parsed again.
func TestListsParseNothing(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	j, err := s.cluster.enqueue(0, "me",
		&jobspec.Spec{Program: "mine", Source: &jobspec.Source{Input: "path:vertices=3"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	j.text = strings.Repeat("no JSON", mostOfEntry)
	if whole, err := s.GetJob(t.Context(),
		&control.GetJobRequest{Id: j.id}); err != nil ||
		whole.SpecJson != j.text {
		t.Errorf("found %v with a wrong text", err)
	}
	list, err := s.ListJobs(t.Context(), &control.ListJobsRequest{})
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].Spec().Program != "mine" {
		t.Errorf("found %v, %v", list, err)
	}
}

// TestNewsToldAgain: after a broken session a worker repeats its reports. The master handles them
// once.
func TestNewsToldAgain(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	j, err := s.cluster.enqueue(0, "me",
		&jobspec.Spec{Program: "mine", Source: &jobspec.Source{Input: "path:vertices=3"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		server: s, job: j, id: j.id, spec: j.spec, heard: map[string]uint64{},
		team: []*control.Placement{{Worker: "w"}},
	}
	s.event(func() {}) // its journal begins
	news := &control.DriveReport{
		Loads:   []*control.LoadReport{{Vertices: 3, Notes: []string{"a note"}}},
		Running: true, MaxSupersteps: 7,
	}
	for range 2 {
		if err := r.drives(t.Context(), news); err != nil {
			t.Fatal(err)
		}
	}
	notes := 0
	for _, e := range s.journals[j.id].events {
		if e.GetLog().GetText() == "a note" {
			notes++
		}
	}
	if a := &j.figures; notes != 1 || a.Vertices != 3 || a.MaxSupersteps != 7 {
		t.Errorf("found %d notes, %v", notes, a)
	}
}

// TestNumbersOfAnotherAttempt: a report with a serial number of another attempt fails the attempt.
// Otherwise all reports of later attempts would be taken for repeated ones.
func TestNumbersOfAnotherAttempt(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	const first = 3 << control.EpochBits
	for serial, fails := range map[uint64]bool{
		0: false, first + 1: false, first - 1: true, first + 1<<control.EpochBits - 1: true,
		1<<64 - 2: true, 1<<64 - 1: true,
	} {
		r := &run{server: s, job: &job{}, epoch: 3, heard: map[string]uint64{}}
		err := r.tell("w", &control.DriveReport{Serial: serial, Log: []string{"a line"}})
		if (err != nil) != fails || fails && r.heardOf("w") > 0 {
			t.Errorf("%d: found %v, and all before %d heard", serial, err, r.heardOf("w"))
		}
	}
}

// TestToldWhileJobsCome: events of a job are passed on while other jobs are submitted.
func TestToldWhileJobsCome(t *testing.T) {
	passed := atomic.Int64{}
	s, err := New(Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}, Watch: func(string, *control.JobEvent) { passed.Add(1) }}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	var told *job
	s.event(func() {
		told, err = s.cluster.enqueue(0, "me",
			&jobspec.Spec{Program: "mine", Source: &jobspec.Source{Input: "path:vertices=3"}}, "",
			0)
	})
	if err != nil {
		t.Fatal(err)
	}
	before, over := passed.Load(), make(chan struct{})
	go func() {
		defer close(over)
		for range 2000 {
			s.append(told.id, said("a line"))
			s.advanced("w", &control.Progress{Job: told.id, Stage: "loading"})
		}
	}()
	for under := true; under; {
		s.mu.Lock()
		for range 64 {
			s.cluster.jobs["another"] = told
			delete(s.cluster.jobs, "another")
		}
		s.mu.Unlock()
		select {
		case <-over:
			under = false
		default:
		}
	}
	if n := passed.Load() - before; n < 4000 {
		t.Errorf("%d of 4000 events were passed on", n)
	}
}
