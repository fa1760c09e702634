package testcluster

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// TestDropWhileLoading drops a graph that would take hours to load, over a slow link. The waiting
// call gets the reason, the workers stop, and the name can be used again.
func TestDropWhileLoading(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, master.Config{}, programs()...)
	c.load(t, "small", small(), 0, 0) // so that the network is measured
	c.Slow(32 << 10)
	load := func(input string) error {
		_, err := c.Client.LoadGraph(t.Context(),
			&control.LoadGraphRequest{Name: "web", SourceJson: job.Text(&job.Source{Input: input})})
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- load("kronecker:scale=16") }()
	c.Until("the graph to be loading", func() bool {
		r, err := c.Client.ListGraphs(t.Context(), &control.ListGraphsRequest{})
		return err == nil && len(r.Graphs) == 2
	})
	if _, err := c.Client.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "graph web: it was dropped") {
		t.Errorf("found %v", err)
	}
	// A worker that is still loading would not execute this.
	if err := load("path:vertices=100"); err != nil {
		t.Error(err)
	}
	c.holdsOnly(t, 2)
}

// TestSubmitAgain submits a job twice with the same key.
func TestSubmitAgain(t *testing.T) {
	c := Start(t, 1, master.Config{}, programs()...)
	submit := func(key string) string {
		r, err := c.Client.SubmitJob(t.Context(),
			&control.SubmitJobRequest{Key: key, SpecJson: job.Text(short())})
		if err != nil {
			t.Fatal(err)
		}
		return r.Id
	}
	first, again, other, none := submit("a"), submit("a"), submit("b"), submit("")
	if first != again || first == other || none == other || submit("") == none {
		t.Errorf("found the jobs %s %s %s %s", first, again, other, none)
	}
}

// TestStackOfAProgram: the description of a job contains the stack of its panic. Lists and events
// do not.
func TestStackOfAProgram(t *testing.T) {
	c := Start(t, 1, master.Config{}, programs()...)
	id := c.submitSpec(t,
		&job.Spec{Program: "broken", Parameters: map[string]string{"at": "7"}, Source: small()}).Id
	j, _ := c.watch(t, id, nil)
	if j.Stack != "" {
		t.Error("an event has a stack")
	}
	if j := c.job(t, id); !strings.Contains(j.Stack, "programs_test.go") {
		t.Errorf("the stack is %q", j.Stack)
	}
	all, err := c.Client.ListJobs(t.Context(),
		&control.ListJobsRequest{Ended: true})
	if err != nil || len(all.Jobs) != 1 || all.Jobs[0].Stack != "" || all.Now == nil {
		t.Errorf("found %v, %v", all, err)
	}
}

// TestPastEvents asks for past events of a running job.
func TestPastEvents(t *testing.T) {
	c := Start(t, 1, master.Config{}, programs()...)
	id := c.submitSpec(t, endless()).Id
	c.Until("the job to run", func() bool {
		stream, err := c.Client.WatchJob(t.Context(),
			&control.WatchJobRequest{Id: id, Past: true})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		seen := false
		for stream.Receive() {
			if e := stream.Msg(); e.Time == nil || e.Sequence == 0 {
				t.Errorf("found %v", e)
			}
			seen = seen || here(stream.Msg())
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		return seen
	})
	c.cancel(t, id)
	c.watch(t, id, nil)
}
