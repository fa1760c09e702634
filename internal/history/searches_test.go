package history

import (
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// heard is a journal that writes down what it is told.
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

// TestSearches makes runs of a benchmark's searches, and none of other jobs' records.
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
