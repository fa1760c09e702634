package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

var finished = time.Unix(1e9, 0).UTC()

// ended returns a named Store with an ended run of Graph500 with two searches.
func ended(t *testing.T) *Store {
	t.Helper()
	s := NewNamedStore()
	to := &Searches{To: s}
	must(t, to.Record(&trace.Job{Job: "m-1", Program: trace.Graph500, Partitions: 2}))
	valid := true
	for i := range 2 {
		name := fmt.Sprintf("bfs root %d", i)
		step := superstep(0, 1.5, .5)
		step.Job = name
		must(t, to.Record(step))
		must(t, to.Record(
			&trace.Search{Job: name, Kernel: "bfs", Edges: 100, Seconds: 1, Valid: &valid}))
	}
	must(t, to.Record(&trace.End{
		Job: "m-1", State: trace.Done, Seconds: 8, Report: "the block",
		Submitted: finished, Finished: finished,
	}))
	return s
}

// shown returns everything that a Store shows of its runs, except details of partitions.
func shown(t *testing.T, s *Store) string {
	t.Helper()
	var all []any
	for _, j := range s.Jobs() {
		steps, err := s.Steps(j.ID, 0, MaxSteps)
		must(t, err)
		whole, err := s.Whole(j.ID)
		must(t, err)
		report, err := s.Report(j.ID)
		must(t, err)
		all = append(all, j, steps, whole, report)
	}
	text, err := json.Marshal(all)
	must(t, err)
	return string(text)
}

// listed returns a named Store of another process, with jobs that ended before.
func listed(t *testing.T, names ...string) *Store {
	t.Helper()
	s := NewNamedStore()
	for _, name := range names {
		must(t, s.Record(&trace.Job{Job: name}))
		must(t, s.Record(
			&trace.End{Job: name, State: trace.Done, Submitted: finished, Finished: finished}))
	}
	return s
}

// keep returns the result of Keep for a job.
func keep(t *testing.T, s *Store, name string) []byte {
	t.Helper()
	data, err := s.Keep(name)
	must(t, err)
	return data
}

// TestRunsOutliveTheirProcess: another process restores a job completely from the result of Keep.
func TestRunsOutliveTheirProcess(t *testing.T) {
	before := ended(t)
	data := keep(t, before, "m-1")
	if _, err := before.Keep("m-2"); err == nil {
		t.Error("a job is kept that there is not")
	}
	after := listed(t, "m-1")
	must(t, after.Record(&trace.Job{Job: "m-2"}))
	if _, err := after.Keep("m-2"); err == nil {
		t.Error("a job is kept that has not ended")
	}
	restore := func(to *Store, data []byte) error {
		more, err := to.Restore("m-1", data)
		if !more {
			t.Error("there is no room")
		}
		return err
	}
	must(t, restore(after, data))
	jobs := after.Jobs()
	if len(jobs) != 4 || jobs[3].ID != "m-2" || jobs[0].Kernels[0].Valid != 2 ||
		after.searches != 2 {
		t.Fatalf("found %+v", jobs)
	}
	after.remove(3)
	if found, want := shown(t, after), shown(t, before); found != want {
		t.Errorf("found %s\nexpected %s", found, want)
	}
	must(t, restore(listed(t), data)) // of a job that was removed
	for i := range data {
		damaged := append([]byte{}, data...)
		damaged[i] ^= 1
		next := listed(t, "m-1")
		without := shown(t, next)
		if err := restore(next, damaged); err == nil && shown(t, next) != shown(t, after) ||
			err != nil && shown(t, next) != without {
			t.Fatalf("byte %d was damaged: %v, and another job is shown", i, err)
		}
	}
	if restore(listed(t, "m-1"), data[:len(data)-1]) == nil {
		t.Error("a record that is cut off is taken for whole")
	}
	other := NewNamedStore()
	must(t, other.Record(&trace.End{Job: "m-1", State: trace.Failed}))
	if restore(other, data) == nil || other.Jobs()[0].State != trace.Failed {
		t.Error("a record of another state is taken")
	}
	if _, err := listed(t, "m-2").Restore("m-2", data); err == nil {
		t.Error("a record of another job is taken")
	}
}

// TestKeepOfASecondAttempt: a restarted job is behind its searches in the list, but Keep still
// returns it.
func TestKeepOfASecondAttempt(t *testing.T) {
	s := NewNamedStore()
	to := &Searches{To: s}
	for range 2 {
		must(t, to.Record(&trace.Job{Job: "m-1", Program: trace.Graph500, Partitions: 2}))
		step := superstep(0, 1.5, .5)
		step.Job = "bfs root 1"
		must(t, to.Record(step))
		must(t, to.Record(&trace.Search{Job: step.Job, Kernel: "bfs", Edges: 100, Seconds: 1}))
		s.Queue(&trace.Job{Job: "m-1", Program: trace.Graph500}, "a worker was lost")
	}
	must(t, to.Record(&trace.Job{Job: "m-1", Program: trace.Graph500, Partitions: 2}))
	must(t, to.Record(&trace.End{Job: "m-1", State: trace.Done}))
	if all := s.Jobs(); len(all) < 2 || all[len(all)-1].ID != "m-1" {
		t.Fatalf("found %+v", all)
	}
	after := listed(t, "m-1")
	_, err := after.Restore("m-1", keep(t, s, "m-1"))
	must(t, err)
	if all := after.Jobs(); len(all) != 2 || all[0].ID != "m-1" || all[0].Kernels[0].Searches != 2 {
		t.Errorf("found %+v", all)
	}
	if !s.forget((*job).endedJob) {
		t.Error("nothing is let go")
	}
	if all := s.Jobs(); len(all) != 0 || s.searches != 0 || len(s.last) != 0 {
		t.Errorf("%d runs stay of jobs that are forgotten: %+v", len(all), all)
	}
}

// TestRecordsAreBounded: of a job with very many searches, Keep returns the newest, each with fewer
// supersteps. If that is still too large, it returns an error.
func TestRecordsAreBounded(t *testing.T) {
	s := NewNamedStore()
	to := &Searches{To: s}
	must(t, to.Record(&trace.Job{Job: "g", Program: trace.Graph500}))
	const n, steps = maxKeptSearches + 2, maxAllKept/maxKeptSearches + 2
	for i := range n {
		for k := range 1 + i/(n-1)*(steps-1) { // the last one is long
			step := superstep(k, 1)
			step.Job = fmt.Sprintf("bfs root %d", i)
			must(t, to.Record(step))
		}
	}
	must(t, to.Record(&trace.End{Job: "g", State: trace.Done}))
	after := listed(t, "g")
	_, err := after.Restore("g", keep(t, s, "g"))
	must(t, err)
	all := after.Jobs()
	if len(all) != 1+maxKeptSearches || all[len(all)-1].ID != fmt.Sprintf("g-bfs-root-%d", n-1) {
		t.Fatalf("found %d runs, the last %s", len(all), all[len(all)-1].ID)
	}
	last := all[len(all)-1]
	found, err := after.Steps(last.ID, 0, MaxSteps)
	must(t, err)
	if len(found) != maxAllKept/len(all) || last.Supersteps != steps {
		t.Errorf("found %d of %d supersteps", len(found), last.Supersteps)
	}
	must(t, s.Record(&trace.Job{Job: "long"}))
	must(t,
		s.Record(&trace.End{Job: "long", State: trace.Done, Report: strings.Repeat("x", MaxKept)}))
	if data, err := s.Keep("long"); err == nil {
		t.Errorf("a record of %d bytes is written", len(data))
	}
}

// TestLongRunsAreCut: Keep returns the newest supersteps of a long run, and the summary of all.
func TestLongRunsAreCut(t *testing.T) {
	s := NewNamedStore()
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 2}))
	const n = 2*maxKeptSteps + 1
	for i := range n {
		must(t, s.Record(superstep(i, 1.5, .5)))
	}
	must(t, s.Record(&trace.End{Job: "j", State: trace.Done}))
	after := listed(t, "j")
	_, err := after.Restore("j", keep(t, s, "j"))
	must(t, err)
	steps, err := after.Steps("j", 0, n)
	must(t, err)
	j, err := after.Job("j")
	must(t, err)
	if len(steps) != maxKeptSteps || steps[0].Superstep != n-maxKeptSteps || j.Supersteps != n ||
		j.Summary.Supersteps != n ||
		j.Said[len(j.Said)-1] != "supersteps: the newest 1000 of 2001 are kept" {
		t.Errorf("found %d of %d steps, %q", len(steps), j.Supersteps, j.Said)
	}
}

// TestSearchesPushNoJobOut: searches belong to their job. They do not displace other jobs, and are
// removed with their job.
func TestSearchesPushNoJobOut(t *testing.T) {
	s := NewNamedStore()
	must(t, s.Record(&trace.Job{Job: "first"}))
	must(t, s.Record(&trace.End{Job: "first", State: trace.Done}))
	to := &Searches{To: s}
	must(t, to.Record(&trace.Job{Job: "g", Program: trace.Graph500}))
	for i := range maxJobs {
		step := superstep(0, 1)
		step.Job = fmt.Sprintf("bfs root %d", i)
		must(t, to.Record(step))
	}
	must(t, to.Record(&trace.End{Job: "g", State: trace.Done}))
	names := func() (all []string) {
		for _, j := range s.Jobs() {
			if len(j.ID) < 8 {
				all = append(all, j.ID)
			}
		}
		return all
	}
	if found := names(); !reflect.DeepEqual(found, []string{"first", "g"}) {
		t.Errorf("found %q", found)
	}
	for i := range maxJobs {
		must(t, s.Record(&trace.Job{Job: fmt.Sprint("j", i)}))
		must(t, s.Record(&trace.End{Job: fmt.Sprint("j", i), State: trace.Done}))
	}
	if found := s.Jobs(); len(found) != maxJobs || found[0].ID != "j0" || s.searches != 0 {
		t.Errorf("found %d jobs from %q, %d searches", len(found), found[0].ID, s.searches)
	}
}

// TestSearchesAreBounded: of a running job with very many searches, the oldest searches are
// removed, and ended jobs stay. If only the queue is too long, no search is removed.
func TestSearchesAreBounded(t *testing.T) {
	s := NewNamedStore()
	must(t, s.Record(&trace.Job{Job: "first"}))
	must(t, s.Record(&trace.End{Job: "first", State: trace.Done}))
	to := &Searches{To: s}
	must(t, to.Record(&trace.Job{Job: "g", Program: trace.Graph500}))
	for i := range maxSearches + 3 {
		step := superstep(0, 1)
		step.Job = fmt.Sprintf("bfs root %d", i)
		must(t, to.Record(step))
	}
	all := s.Jobs()
	if s.searches != maxSearches || len(all) != 2+maxSearches || all[0].ID != "first" ||
		all[2].ID != "g-bfs-root-3" {
		t.Fatalf("found %d searches, from %s, %s", s.searches, all[0].ID, all[2].ID)
	}
	for i := range maxJobs + 3 {
		s.Queue(&trace.Job{Job: fmt.Sprint("j", i)}, "waits")
	}
	if _, err := s.Job("first"); err == nil || s.searches != maxSearches {
		t.Errorf("found %d searches, %v", s.searches, err)
	}
}
