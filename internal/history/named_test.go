package history

import (
	"log/slog"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
)

// TestNamedStore records a job from the queue to its end.
func TestNamedStore(t *testing.T) {
	s := NewNamedStore()
	began := time.Now()
	s.Queue(&trace.Job{Job: "a 1", Began: began}, "waits")
	if j, _ := s.Job("a-1"); !j.Began.IsZero() || j.Submitted != began {
		t.Errorf("a job that waits began at %v, submitted at %v", j.Began, j.Submitted)
	}
	s.Queue(&trace.Job{Job: "a 1"}, "waits for a worker")
	is := func(state, reason string, vertices uint64) {
		t.Helper()
		j, err := s.Job("a-1")
		must(t, err)
		if len(s.Jobs()) != 1 || j.State != state || j.Error != reason || j.Vertices != vertices {
			t.Errorf("found %+v of %d jobs", j, len(s.Jobs()))
		}
	}
	is(trace.Queued, "waits for a worker", 0)
	must(t, s.Record(&trace.Job{Job: "a 1", Partitions: 1}))
	is(trace.Running, "", 0)
	must(t, s.Record(&trace.Job{More: true, Job: "a 1", Partitions: 1, Vertices: 7}))
	must(t, s.Record(&trace.Job{More: true, Job: "b", Vertices: 8})) // of an unknown job
	is(trace.Running, "", 7)
	must(t, s.Record(active("a 1", 0, 1)))
	must(t, s.Record(&trace.Stage{Job: "a 1", Stage: "loading", Done: 1, Total: 2}))
	must(t, s.Record(&trace.Stage{Job: "b", Stage: "loading", Seconds: 3}))
	must(t, s.Record(&trace.Stage{Job: "a 1", Stage: "loading", Seconds: 2}))
	if g := s.Stages(); len(g) != 2 || g[0].Job != "a 1" || g[0].Seconds != 2 || g[1].Job != "b" {
		t.Errorf("stages %+v", g)
	}
	must(t,
		s.Record(&trace.End{Job: "a 1", State: trace.Failed, Again: true, Error: "w1 was lost"}))
	is(trace.Failed, "w1 was lost", 7)
	// the job starts again, and replaces the earlier attempt
	s.Queue(&trace.Job{Job: "a 1"}, "a worker was lost")
	is(trace.Queued, "a worker was lost", 0)
	j, _ := s.Job("a-1")
	if len(j.Lost) != 1 || j.Lost[0].Error != "w1 was lost" || j.Lost[0].Supersteps != 1 ||
		j.Submitted != began {
		t.Errorf("after a lost attempt: submitted %v, lost %+v", j.Submitted, j.Lost)
	}
	for range maxLog + 5 {
		must(t, s.Record(&trace.Stage{Stage: "x", Seconds: 1}))
	}
	if n := len(s.Stages()); n > maxLog {
		t.Errorf("%d stages are kept", n)
	}
}

func TestLogHandler(t *testing.T) {
	s := NewNamedStore()
	log := slog.New(NewLogHandler(s))
	log.Debug("nothing")
	log.Info("job", "job", "m-1", "state", "running", "reason", "")
	log.With("worker", "w0").WithGroup("at").Warn("lost", "n", 3)
	log.With("a", 1).Error("bad")
	want := []trace.Log{
		{Level: "info", Text: "job, state running", Job: "m-1"},
		{Level: "warn", Text: "lost, n 3", Worker: "w0"},
		{Level: "error", Text: "bad, a 1"},
	}
	got := s.Lines()
	if len(got) != len(want) {
		t.Fatalf("found %+v", got)
	}
	for i, l := range got {
		if want[i].Time = l.Time; l != want[i] || l.Time.IsZero() {
			t.Errorf("found %+v, expected %+v", l, want[i])
		}
	}
}
