package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
)

// ended is a named Store with a run of Graph500, of two searches, that has ended.
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
		must(t, to.Record(&trace.Search{Job: name, Kernel: "bfs", Edges: 100, Seconds: 1, Valid: &valid}))
	}
	must(t, to.Record(&trace.End{Job: "m-1", State: trace.Done, Seconds: 8, Report: "the block"}))
	return s
}

// shown is everything that a Store says of its runs, but for the details of partitions.
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

// TestRunsOutliveTheirProcess: another process shows all of a job when it has what Keep returned.
func TestRunsOutliveTheirProcess(t *testing.T) {
	before := ended(t)
	data := before.Keep("m-1")
	if data == nil || before.Keep("m-2") != nil {
		t.Fatal("the job is not kept, or another is")
	}
	after := NewNamedStore()
	must(t, after.Record(&trace.Job{Job: "m-2"}))
	if after.Keep("m-2") != nil {
		t.Error("a job is kept that has not ended")
	}
	must(t, after.Restore(data))
	must(t, after.Restore(data)) // which changes nothing
	jobs := after.Jobs()
	if len(jobs) != 4 || jobs[3].ID != "m-2" || jobs[0].Kernels[0].Valid != 2 {
		t.Fatalf("found %+v", jobs)
	}
	after.remove(3)
	if found, want := shown(t, after), shown(t, before); found != want {
		t.Errorf("found %s\nexpected %s", found, want)
	}
	for i := range data {
		damaged := append([]byte{}, data...)
		damaged[i] ^= 1
		next := NewNamedStore()
		if next.Restore(damaged) == nil && shown(t, next) != shown(t, after) {
			t.Fatalf("byte %d was damaged, and nobody says so", i)
		}
	}
}

// TestLongRunsAreCut: of a long run the newest supersteps are kept, and the summary of all.
func TestLongRunsAreCut(t *testing.T) {
	s := NewNamedStore()
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 2}))
	const n = 2*maxKept + 1
	for i := range n {
		must(t, s.Record(superstep(i, 1.5, .5)))
	}
	must(t, s.Record(&trace.End{Job: "j", State: trace.Done}))
	after := NewNamedStore()
	must(t, after.Restore(s.Keep("j")))
	steps, err := after.Steps("j", 0, n)
	must(t, err)
	j, err := after.Job("j")
	must(t, err)
	if len(steps) != maxKept || steps[0].Superstep != n-maxKept || j.Supersteps != n ||
		j.Summary.Supersteps != n || j.Said[len(j.Said)-1] != "supersteps: the newest 1000 of 2001 are kept" {
		t.Errorf("found %d of %d steps, %q", len(steps), j.Supersteps, j.Said)
	}
}

// TestSearchesPushNoJobOut: searches are a part of their job, which goes with them, oldest first.
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
