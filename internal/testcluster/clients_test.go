package testcluster

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// TestDropWhileLoading drops a graph that its workers would load for ever: the call that waits for it learns why, the
// workers stop, and the name is free.
func TestDropWhileLoading(t *testing.T) {
	c, toy := startToy(t, 2)
	load := func(input string) error {
		_, err := c.Client.LoadGraph(t.Context(), connect.NewRequest(&control.LoadGraphRequest{Name: "web", Source: &control.GraphSource{Input: input}}))
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- load("slow") }()
	c.Until("the graph to be loading", func() bool {
		r, err := c.Client.ListGraphs(t.Context(), connect.NewRequest(&control.ListGraphsRequest{}))
		return err == nil && len(r.Msg.Graphs) == 1
	})
	if _, err := c.Client.DropGraph(t.Context(), connect.NewRequest(&control.DropGraphRequest{Name: "web"})); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "graph web: it was dropped") {
		t.Errorf("found %v", err)
	}
	// A worker that still loaded would not come to this.
	if err := load("file"); err != nil {
		t.Error(err)
	}
	if _, graphs := toy.holds(); graphs != 2 {
		t.Errorf("workers hold %d shares, expected 2", graphs)
	}
}

// TestSubmitAgain submits a job twice under one key.
func TestSubmitAgain(t *testing.T) {
	c, _ := startToy(t, 1)
	submit := func(key string) string {
		r, err := c.Client.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{
			Key: key, Spec: &control.JobSpec{Program: "toy", Parameters: map[string]string{"supersteps": "1"}, Source: &control.GraphSource{Input: "file"}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg.Id
	}
	first, again, other, none := submit("a"), submit("a"), submit("b"), submit("")
	if first != again || first == other || none == other || submit("") == none {
		t.Errorf("found the jobs %s %s %s %s", first, again, other, none)
	}
}

// TestStackOfAProgram is in what is said of one job, and not in lists and events.
func TestStackOfAProgram(t *testing.T) {
	c, _ := startToy(t, 1)
	id := c.submit(t, "file", "at", "1", "what", "program").Id
	j, _ := c.watch(t, id, nil)
	if j.Stack != "" {
		t.Error("an event has a stack")
	}
	r, err := c.Client.GetJob(t.Context(), connect.NewRequest(&control.GetJobRequest{Id: id}))
	if err != nil || r.Msg.Stack != "main.go:1" {
		t.Errorf("found %v, %v", r, err)
	}
	all, err := c.Client.ListJobs(t.Context(), connect.NewRequest(&control.ListJobsRequest{Ended: true}))
	if err != nil || len(all.Msg.Jobs) != 1 || all.Msg.Jobs[0].Stack != "" || all.Msg.Now == nil {
		t.Errorf("found %v, %v", all, err)
	}
}

// TestPastEvents asks for what has happened to a job that goes on.
func TestPastEvents(t *testing.T) {
	c, _ := startToy(t, 1)
	id := c.submit(t, "file", "at", "1", "what", "block").Id
	c.Until("the job to block", func() bool {
		stream, err := c.Client.WatchJob(t.Context(), connect.NewRequest(&control.WatchJobRequest{Id: id, Past: true}))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		seen := false
		for stream.Receive() {
			if e := stream.Msg(); e.Time == nil || e.Sequence == 0 {
				t.Errorf("found %v", e)
			}
			seen = seen || stream.Msg().GetLog().GetText() == "blocked"
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		return seen
	})
	if _, err := c.Client.CancelJob(t.Context(), connect.NewRequest(&control.CancelJobRequest{Id: id})); err != nil {
		t.Error(err)
	}
	c.watch(t, id, nil)
}

// TestResultInTheMiddle reads a result from a byte on; parts are merged by the ids of their lines.
func TestResultInTheMiddle(t *testing.T) {
	c, _ := startToy(t, 3)
	j, _ := c.watch(t, c.submit(t, "file").Id, nil)
	whole := "0 w0\n1 w1\n2 w2\n"
	if j.ResultBytes != uint64(len(whole)) {
		t.Errorf("found %d bytes, expected %d", j.ResultBytes, len(whole))
	}
	for _, from := range []int{0, 7, len(whole)} {
		stream, err := c.Client.GetResult(t.Context(), connect.NewRequest(&control.GetResultRequest{Id: j.Id, Offset: uint64(from)}))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for stream.Receive() {
			got += string(stream.Msg().Data)
		}
		if stream.Err() != nil || got != whole[from:] {
			t.Errorf("from %d: found %q, %v", from, got, stream.Err())
		}
		_ = stream.Close()
	}
}
