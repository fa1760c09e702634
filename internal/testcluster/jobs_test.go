package testcluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

var toyPrograms = []*control.Program{{Name: "toy", Fingerprint: "f"}}

func startToy(t testing.TB, n int) (*Cluster, *toyWorkers) {
	t.Helper()
	return startToyLeased(t, n, patient)
}

func startToyLeased(t testing.TB, n int, lease time.Duration) (*Cluster, *toyWorkers) {
	t.Helper()
	toy := newToyWorkers()
	return Start(t, n, master.Options{Engine: toyEngine{}, Programs: toyPrograms, Lease: lease},
		worker.Options{Executor: toy, About: &control.RegisterRequest{Protocol: control.Protocol, Programs: toyPrograms}}), toy
}

// submit submits a job of the toy on a graph of its own.
func (c *Cluster) submit(t testing.TB, input string, params ...string) *control.Job {
	t.Helper()
	values := map[string]string{"supersteps": "3"}
	for i := 0; i < len(params); i += 2 {
		values[params[i]] = params[i+1]
	}
	spec := &control.JobSpec{Program: "toy", Parameters: values, KeepResult: true, Source: &control.GraphSource{Input: input}}
	if name, ok := strings.CutPrefix(input, "graph:"); ok {
		spec.Graph, spec.Source = name, nil
	}
	r, err := c.Client.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{Spec: spec}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// watch watches a job to its end, and returns it and the words of what happened; seen is called for each event.
func (c *Cluster) watch(t testing.TB, id string, seen func(*control.JobEvent)) (*control.Job, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := c.Client.WatchJob(ctx, connect.NewRequest(&control.WatchJobRequest{Id: id}))
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
			words = append(words, last.State.Word())
		case *control.JobEvent_Record:
			words = append(words, fmt.Sprint(body.Record.Superstep))
			for _, p := range body.Record.Partitions {
				if len(p.Aggregates) > 0 {
					t.Error("a record has aggregates")
				}
			}
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
	c, toy := startToy(t, 4)
	j := c.submit(t, "file")
	j, words := c.watch(t, j.Id, nil)
	if want := "queued loading running 0 1 2 writing done"; words != want {
		t.Errorf("found %s, expected %s", words, want)
	}
	if j.Supersteps != 3 || !j.Converged || j.MessagesSent != 3*4*3 || j.Vertices != 100 || len(j.Workers) != 4 {
		t.Errorf("found %v", j)
	}
	stream, err := c.Client.GetResult(t.Context(), connect.NewRequest(&control.GetResultRequest{Id: j.Id}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	result := ""
	for stream.Receive() {
		result += string(stream.Msg().Data)
	}
	if want := "0 w0\n1 w1\n2 w2\n3 w3\n"; result != want || stream.Err() != nil {
		t.Errorf("found %q, %v", result, stream.Err())
	}
	if jobs, graphs := toy.holds(); jobs+graphs != 0 {
		t.Errorf("workers still hold %d jobs and %d graphs", jobs, graphs)
	}
}

func TestManyJobsOnOneGraph(t *testing.T) {
	c, toy := startToy(t, 2)
	load := func(name, input string) (*control.Graph, error) {
		r, err := c.Client.LoadGraph(t.Context(), connect.NewRequest(&control.LoadGraphRequest{
			Name: name, Source: &control.GraphSource{Input: input}, Rows: 2, Columns: 2,
		}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	if _, err := load("bad", "missing"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("found %v", err)
	}
	g, err := load("web", "file")
	if err != nil || g.Vertices != 100 || g.Bytes != 2<<20 || len(g.Placements) != 4 {
		t.Fatalf("found %v, %v", g, err)
	}
	var jobs []*control.Job
	for range 20 {
		jobs = append(jobs, c.submit(t, "graph:web"))
	}
	for _, j := range jobs {
		if j, _ := c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_DONE {
			t.Errorf("found %v", j)
		}
	}
	if _, err := c.Client.DropGraph(t.Context(), connect.NewRequest(&control.DropGraphRequest{Name: "web"})); err != nil {
		t.Error(err)
	}
	c.Until("the graph to be gone", func() bool { jobs, graphs := toy.holds(); return jobs+graphs == 0 })
}

func TestJobFailures(t *testing.T) {
	c, _ := startToy(t, 2)
	for what, want := range map[string]string{
		"fail":    "superstep 1: worker w",
		"program": "vertex 7, superstep 1: index out of range",
		"panic":   "a bug in superstep: a slip",
		"lie":     "superstep 1: partition 0 sent partition 1 1 values in 0 bytes, and 0 values in 0 bytes came",
	} {
		j, _ := c.watch(t, c.submit(t, "file", "at", "1", "what", what).Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, want) {
			t.Errorf("%s: found %s, %s; expected %q", what, j.State.Word(), j.Reason, want)
		}
	}
	if j, _ := c.watch(t, c.submit(t, "file").Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %v", j)
	}
}

func TestCancel(t *testing.T) {
	c, toy := startToy(t, 2)
	running := c.submit(t, "file", "at", "1", "what", "block")
	waiting := c.submit(t, "file")
	cancel := func(id string) {
		_, err := c.Client.CancelJob(t.Context(), connect.NewRequest(&control.CancelJobRequest{Id: id}))
		if err != nil {
			t.Error(err)
		}
	}
	cancel(waiting.Id)
	j, _ := c.watch(t, running.Id, func(e *control.JobEvent) {
		if e.GetLog().GetText() == "blocked" {
			cancel(running.Id)
		}
	})
	if j.State != control.JobState_JOB_STATE_CANCELLED || j.Reason != "cancelled by a client" {
		t.Errorf("found %v", j)
	}
	if j, words := c.watch(t, waiting.Id, nil); words != "queued cancelled" {
		t.Errorf("found %s: %v", words, j)
	}
	if jobs, graphs := toy.holds(); jobs+graphs != 0 {
		t.Errorf("workers still hold %d jobs and %d graphs", jobs, graphs)
	}
}

// TestWorkerDiesInAJob loses a worker in a superstep: the job fails with that as its cause, within 30 s, and the cluster
// goes on with the others.
func TestWorkerDiesInAJob(t *testing.T) {
	c, _ := startToyLeased(t, 3, control.Lease)
	j := c.submit(t, "file", "at", "1", "what", "block")
	began := time.Now()
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		if e.GetLog().GetText() == "blocked" {
			c.Freeze("w2")
		}
	})
	if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, "worker w2 was lost") {
		t.Errorf("found %v", j)
	}
	if took := time.Since(began); took > prompt {
		t.Errorf("the job failed after %v", took)
	}
	if j, _ := c.watch(t, c.submit(t, "file").Id, nil); j.State != control.JobState_JOB_STATE_DONE || len(j.Workers) != 2 {
		t.Errorf("the next job: %v", j)
	}
}

func TestWorkerLeavesAfterItsJob(t *testing.T) {
	c, _ := startToy(t, 2)
	stopped := false
	j := c.submit(t, "file", "at", "1", "what", "block")
	j, _ = c.watch(t, j.Id, func(e *control.JobEvent) {
		if e.GetLog().GetText() != "blocked" || stopped {
			return
		}
		stopped = true // both workers tell that they block
		c.Process("w1").Stop()
		c.Until("w1 to be leaving", func() bool { return c.WorkerNamed("w1").State == control.WorkerState_WORKER_STATE_LEAVING })
		if _, err := c.Client.CancelJob(t.Context(), connect.NewRequest(&control.CancelJobRequest{Id: j.Id})); err != nil {
			t.Error(err)
		}
	})
	if err := c.Process("w1").Wait(t); err != nil {
		t.Error(err)
	}
	if j.State != control.JobState_JOB_STATE_CANCELLED {
		t.Errorf("found %v", j)
	}
}

func TestMasterStopsWithAJobRunning(t *testing.T) {
	c, _ := startToy(t, 2)
	c.submit(t, "file", "at", "1", "what", "block")
	c.StopMaster()
	c.StartMaster(c.Address)
	c.Await(2)
	if j, _ := c.watch(t, c.submit(t, "file").Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("found %v", j)
	}
}

func TestWithoutAnEngine(t *testing.T) {
	c := Start(t, 1, master.Options{Programs: toyPrograms}, worker.Options{About: &control.RegisterRequest{Protocol: control.Protocol, Programs: toyPrograms}})
	_, err := c.Client.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{Spec: &control.JobSpec{Program: "toy"}}))
	if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "runs nothing") {
		t.Errorf("found %v", err)
	}
}
