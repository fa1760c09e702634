package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// heard is a journal that records events as text.
type heard []string

func (h *heard) Record(e trace.Event) error {
	text := fmt.Sprintf("%T %s", e, *trace.JobOf(e))
	switch e := e.(type) {
	case *trace.Job:
		text += fmt.Sprintf(" %s on %s %d %t", e.Program, e.Graph, e.Vertices, e.More)
	case *trace.End:
		text += fmt.Sprintf(" %s %s %s", e.State, e.Ended, e.Error)
	}
	*h = append(*h, text)
	return nil
}

// TestSearches: the searches of a benchmark become runs of their own. Records of other jobs do not.
func TestSearches(t *testing.T) {
	var all heard
	s := &Searches{To: &all}
	b := trace.Job{Job: "j1", Program: trace.Graph500, Graph: "g"}
	must(t, s.Record(&b))
	b.More, b.Vertices = true, 7
	must(t, s.Record(&b))
	for _, search := range []string{"bfs root 1", "bfs root 1", "sssp root 2"} {
		r := &record.Superstep{Job: search, Partitions: []record.Partition{{}}}
		must(t, s.Record(r))
		if r.Job != search {
			t.Errorf("the record was changed to one of %s", r.Job)
		}
	}
	found := &trace.Search{Job: "sssp root 2"}
	must(t, s.Record(found))
	must(t, s.Record(&trace.End{Job: "j1", State: trace.Cancelled, Error: "enough"}))
	must(t, s.Record(&trace.Job{Job: "other", Program: "bfs"}))
	must(t, s.Record(&record.Superstep{Job: "third"}))
	want := heard{
		"*trace.Job j1 graph500 on g 0 false", "*trace.Job j1 graph500 on g 7 true",
		"*trace.Job j1 bfs root 1 bfs on g 7 false",
		"*record.Superstep j1 bfs root 1", "*record.Superstep j1 bfs root 1",
		"*trace.End j1 bfs root 1 done converged ", "*trace.Job j1 sssp root 2 sssp on g 7 false",
		"*record.Superstep j1 sssp root 2", "*trace.Search j1 sssp root 2",
		"*trace.End j1 sssp root 2 cancelled  enough", "*trace.End j1 cancelled  enough",
		"*trace.Job other bfs on  0 false", "*record.Superstep third",
	}
	if !slices.Equal(all, want) {
		t.Errorf("found\n%q\nexpected\n%q", all, want)
	}
}

// TestSearchesCountForTheirJob: a benchmark's job counts the supersteps of its searches.
func TestSearchesCountForTheirJob(t *testing.T) {
	s := NewNamedStore()
	must(t, s.Record(&trace.Job{Job: "j", Program: "graph500", Partitions: 1}))
	for _, search := range []string{"bfs root 7" + trace.WarmUp, "bfs root 7", "bfs root 8"} {
		name := "j " + search
		must(t, s.Record(&trace.Job{Job: name, Program: "bfs", Partitions: 1}))
		for i := range 3 {
			step := active(name, i, 1)
			step.Partitions[0].Messages, step.Partitions[0].Times.Total = 5, .5
			must(t, s.Record(step))
		}
		must(t, s.Record(&trace.End{Job: name, State: trace.Done, Ended: trace.Converged}))
	}
	j, err := s.Job("j")
	must(t, err)
	if j.Supersteps != 9 || j.Messages != 45 || j.Seconds != 4.5 || j.Summary.Supersteps != 9 {
		t.Errorf("found %+v", j)
	}
	if one, err := s.Job("j-bfs-root-8"); err != nil || one.Supersteps != 3 {
		t.Errorf("found %+v, %v", one, err)
	}
	must(t, s.Record(&trace.Job{Job: "a file: g", Program: "graph500"}))
	must(t,
		s.Record(&trace.Search{Job: "a file: g bfs root 7", Kernel: "bfs", Seconds: 1, Edges: 100}))
	if of, err := s.Job("a-file:-g"); err != nil || len(of.Kernels) != 1 {
		t.Errorf("a job whose name has blanks has %+v, %v", of.Kernels, err)
	}
	must(t, s.Record(&trace.Job{Job: "jj", Program: "graph500"}))
	must(t, s.Record(&trace.Job{Job: "jj bfs root 7", Program: "bfs"}))
	yes := true
	must(t, s.Record(
		&trace.Search{Job: "j bfs root 7", Kernel: "bfs", Seconds: 1, Edges: 100, Valid: &yes}))
	s.Queue(&trace.Job{Job: "j", Program: "graph500"}, "lost a worker")
	var left []string
	for _, one := range s.Jobs() {
		left = append(left, one.ID)
	}
	if !slices.Equal(left, []string{"j-bfs-root-7", "a-file:-g", "jj", "jj-bfs-root-7", "j"}) {
		t.Errorf("after another attempt has begun there are %q", left)
	}
	must(t, s.Record(&trace.Job{Job: "j", Program: "graph500"}))
	must(t, s.Record(
		&trace.Search{Job: "j bfs root 8", Kernel: "bfs", Seconds: .5, Translate: .25, Edges: 150}))
	j, err = s.Job("j")
	must(t, err)
	want := []Kernel{{Name: "bfs", Searches: 2, Valid: 1, Seconds: 1.5, Translate: .25, TEPS: 150, Last: 300}}
	if !slices.Equal(j.Kernels, want) {
		t.Errorf("found %+v, expected %+v", j.Kernels, want)
	}
	if one, err := s.Job("j-bfs-root-7"); err != nil || one.Search == nil || !*one.Search.Valid {
		t.Errorf("found %+v, %v", one, err)
	}
	must(t, s.Record(&trace.End{Job: "j", State: trace.Done, Report: "SCALE: 8"}))
	if text, err := s.Report("j"); err != nil || text != "SCALE: 8" {
		t.Errorf("found the report %q, %v", text, err)
	}
}

// TestTheWorstSearchIsNamed: the summary of a benchmark names the search that has the worst
// superstep.
func TestTheWorstSearchIsNamed(t *testing.T) {
	s, m := NewNamedStore(), new(Meter)
	must(t, s.Record(&trace.Job{Job: "j", Program: "graph500", Partitions: 2}))
	for _, search := range []string{"bfs root 7", "bfs root 8"} {
		must(t, s.Record(&trace.Job{Job: "j " + search, Program: "bfs", Partitions: 2}))
		step := superstep(3, 1.5, .5)
		if search == "bfs root 8" {
			step = superstep(3, 1.1, .9)
		}
		step.Job = search
		must(t, m.Record(step))
		step.Job = "j " + search
		must(t, s.Record(step))
	}
	j, err := s.Job("j")
	must(t, err)
	for _, lines := range [][]string{j.Said, m.Lines()} {
		const want = "; most in superstep 3 of bfs root 7, where partition 0 "
		if said := strings.Join(lines, "\n"); !strings.Contains(said, want) {
			t.Errorf("found %q, expected %q", said, want)
		}
	}
}
