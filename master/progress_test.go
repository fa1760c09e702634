package master

import (
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestProgressOfWorkers sums the workers' progress for each stage, until the job changes its state.
func TestProgressOfWorkers(t *testing.T) {
	j := newJournal(0)
	found := func(since uint64, stage string, done, total uint64) uint64 {
		t.Helper()
		p, version := j.progress(since)
		if p.GetStage() != stage || p.GetDone() != done || p.GetTotal() != total {
			t.Errorf("found %v, expected %s %d of %d", p, stage, done, total)
		}
		return version
	}
	tell := func(worker, stage string, done, total uint64) {
		j.tell(worker, &control.Progress{Job: "j", Stage: stage, Done: done, Total: total})
	}
	version := found(0, "", 0, 0)
	_, changed, _ := j.after(0)
	tell("a", "read", 1, 10)
	<-changed
	tell("b", "read", 2, 20)
	version = found(version, "read", 3, 30)
	found(version, "", 0, 0)
	tell("a", "sort", 4, 5) // a is ahead: the stage is b's, and a has completed it
	version = found(version, "read", 12, 30)
	tell("a", "link", 1, 8)
	version = found(version, "read", 12, 30)
	tell("b", "read", 19, 20)
	version = found(version, "read", 29, 30)
	tell("b", "sort", 0, 5) // now a is one stage ahead
	version = found(version, "sort", 0, 5)
	tell("b", "link", 2, 8)
	version = found(version, "link", 3, 16)
	j.append(&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{}}}, false)
	version = found(version, "", 0, 0)
	j.append(&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{}}}, true)
	tell("b", "late", 1, 5)
	found(version, "", 0, 0)
}

// TestProgressOfALoad: a graph's progress is reported until the load ends.
func TestProgressOfALoad(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	g := &graph{report: &control.LoadReport{}, name: "web", state: control.GraphState_GRAPH_STATE_LOADING}
	s.cluster.graphs["web"] = g
	s.advanced("a", &control.Progress{Graph: "web", Stage: "read", Done: 1, Total: 10})
	s.advanced("b", &control.Progress{Graph: "web", Stage: "read", Done: 2, Total: 10})
	s.advanced("b", &control.Progress{Graph: "other", Stage: "read", Done: 2, Total: 10})
	if p := describeGraph(g).Progress; p.GetStage() != "read" || p.Done != 3 || p.Total != 20 {
		t.Errorf("found %v", p)
	}
	s.cluster.graphLoaded(s.now(), g, &control.LoadReport{}, nil)
	s.advanced("b", &control.Progress{Graph: "web", Stage: "read", Done: 3, Total: 10})
	if p := describeGraph(g).Progress; p != nil {
		t.Errorf("a graph that is there is at %v", p)
	}
}
