package testcluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/record"
)

// stepOf returns the superstep of an event, or an empty one.
func stepOf(t testing.TB, e *control.JobEvent) *record.Superstep {
	data := e.GetRecord()
	if data == nil {
		return &record.Superstep{}
	}
	s, err := control.DecodeRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// short returns a job of three supersteps. Its result is 0 for every vertex.
func short() *job.Spec {
	return &job.Spec{
		Program: "idle", Parameters: map[string]string{"supersteps": "3"},
		Source: &job.Source{Input: "path:vertices=100"}, KeepResult: true,
	}
}

// endless returns a job that logs "here" and runs until it is stopped.
func endless() *job.Spec { return &job.Spec{Program: "forever", Source: small()} }

// here reports whether an endless job has logged "here".
func here(e *control.JobEvent) bool { return strings.HasSuffix(e.GetLog().GetText(), "here") }

// watch watches a job to its end. It returns the job and the words of its events. seen is called
// for each event.
func (c *Cluster) watch(
	t testing.TB, id string, seen func(*control.JobEvent),
) (*control.Job, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := c.Client.WatchJob(ctx, &control.WatchJobRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var words []string
	var last *control.Job
	for stream.Receive() {
		e := stream.Msg()
		if seen != nil {
			seen(e)
		}
		switch body := e.Body.(type) {
		case *control.JobEvent_Job:
			last = body.Job
			words = append(words, last.State.Detail())
		case *control.JobEvent_Record:
			words = append(words, fmt.Sprint(stepOf(t, e).Superstep))
		case *control.JobEvent_Log:
			words = append(words, body.Log.Text)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return last, strings.Join(words, " ")
}

func TestJobOnItsOwnGraph(t *testing.T) {
	c := Start(t, 4, master.Config{}, programs()...)
	j, words := c.watch(t, c.submitSpec(t, short()).Id, nil)
	if want := "queued running, loading running 0 1 2 running, writing done"; words != want {
		t.Errorf("found %s, expected %s", words, want)
	}
	if j.Supersteps != 3 || j.EndedBy != "halted" || j.Vertices != 100 || len(j.Workers) != 4 {
		t.Errorf("found %v", j)
	}
	whole := "" // parts are merged by the ids of their lines
	for v := range 100 {
		whole += fmt.Sprintln(v, 0)
	}
	if j.ResultBytes != uint64(len(whole)) {
		t.Errorf("the result has %d bytes, expected %d", j.ResultBytes, len(whole))
	}
	for _, from := range []int{0, 7, len(whole)} {
		if got := string(c.resultFrom(t, j.Id, from)); got != whole[from:] {
			t.Errorf("from %d: found %q", from, got)
		}
	}
	c.holdsOnly(t, 0)
}

func TestManyJobsOnOneGraph(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	if _, err := c.Client.LoadGraph(t.Context(), &control.LoadGraphRequest{
		Name: "bad", SourceJson: job.Text(&job.Source{Input: "/no/such/file"}),
	}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("found %v", err)
	}
	spec := short()
	if g := c.load(t, "web", spec.Source, 2, 2); g.Vertices != 100 || g.Bytes == 0 ||
		len(g.Placements) != 4 {
		t.Fatalf("found %v", g)
	}
	spec.Graph, spec.Source = "web", nil
	var jobs []*control.Job
	for range 20 {
		jobs = append(jobs, c.submitSpec(t, spec))
	}
	for _, j := range jobs {
		if j, _ := c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_DONE {
			t.Errorf("found %v", j)
		}
	}
	if _, err := c.Client.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "web"}); err != nil {
		t.Error(err)
	}
	c.holdsOnly(t, 0)
}

func TestCancel(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	running, waiting := c.submitSpec(t, endless()), c.submitSpec(t, short())
	c.cancel(t, waiting.Id)
	j, _ := c.watch(t, running.Id, func(e *control.JobEvent) {
		if here(e) {
			c.cancel(t, running.Id)
		}
	})
	if j.State != control.JobState_JOB_STATE_CANCELLED || j.Reason != "cancelled by a client" {
		t.Errorf("found %v", j)
	}
	if j, words := c.watch(t, waiting.Id, nil); words != "queued cancelled" {
		t.Errorf("found %s: %v", words, j)
	}
	c.holdsOnly(t, 0)
}

func TestWorkerLeavesAfterItsJob(t *testing.T) {
	c := Start(t, 2, master.Config{}, programs()...)
	j := c.submitSpec(t, endless())
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		if !here(e) {
			return
		}
		c.Process("w1").Stop()
		c.Until("w1 to be leaving", func() bool { return c.WorkerNamed("w1").State == control.WorkerState_WORKER_STATE_LEAVING })
		c.cancel(t, j.Id)
	})
	if err := c.Process("w1").Wait(t); err != nil {
		t.Error(err)
	}
	if j.State != control.JobState_JOB_STATE_CANCELLED {
		t.Errorf("found %v", j)
	}
}
