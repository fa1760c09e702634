package testcluster

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/pregel"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/master"
)

// TestMasterGoesOn stops a master that has ended, running and waiting jobs, and graphs that are
// loaded or loading. The next master continues with all of them.
func TestMasterGoesOn(t *testing.T) {
	at := new(atomic.Pointer[gate])
	c := Start(t, 2,
		master.Config{Options: master.Options{Data: t.TempDir(), Lease: control.Lease, Retries: 2}},
		append(programs(), engine.Register("summing", pregel.Erase(summing{at})))...)
	web := c.load(t, "web", &job.Source{Input: "kronecker:scale=9"}, 2, 2)
	spec := &job.Spec{Program: "summing", Graph: "web", KeepResult: true}
	ended, _ := c.watch(t, c.submitSpec(t, spec).Id, nil)
	want := c.result(t, ended.Id)
	failed, _ := c.watch(t, c.submitSpec(t,
		&job.Spec{Program: "wcc", Source: &job.Source{Input: "/no/such/file"}}).Id, nil)
	g := newGate()
	at.Store(g)

	// A client that follows its job all the time.
	var mu sync.Mutex
	var lines, reasons []string
	cl, err := client.New(client.Options{Address: c.Address, Log: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	type outcome struct {
		job    *control.Job
		missed uint64
		err    error
	}
	followed := make(chan outcome, 1)
	running, err := cl.Submit(t.Context(), spec)
	if err == nil {
		_, err = cl.Confirm(t.Context(), running.Id)
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		at := &client.Place{}
		job, err := cl.Wait(context.Background(), running.Id, at,
			func(e *control.JobEvent) error {
				mu.Lock()
				defer mu.Unlock()
				reasons = append(reasons, e.GetJob().GetReason()+e.GetLog().GetText())
				return nil
			})
		followed <- outcome{job, at.Missed, err}
	}()
	g.await(t)
	key := &control.SubmitJobRequest{SpecJson: job.Text(spec), Key: "mine"}
	waiting, err := c.Client.SubmitJob(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	unwanted := c.submitSpec(t, spec)
	c.cancel(t, unwanted.Id)
	c.Slow(32 << 10) // so that the load goes on until the next master is there
	loading := make(chan error, 1)
	go func() {
		_, err := c.Client.LoadGraph(context.Background(),
			&control.LoadGraphRequest{Name: "large", SourceJson: job.Text(&job.Source{Input: "kronecker:scale=12"})})
		loading <- err
	}()
	c.Until("the load", func() bool {
		r, err := c.Client.InspectGraph(t.Context(),
			&control.InspectGraphRequest{Name: "large"})
		return err == nil && r.State == control.GraphState_GRAPH_STATE_LOADING
	})
	c.StopMaster()
	at.Store(nil)
	close(g.open)
	<-loading
	c.StartMaster(c.Address)
	c.Await(2)
	c.Slow(0)

	again, err := c.Client.SubmitJob(t.Context(), key)
	if err != nil || again.Id != waiting.Id {
		t.Errorf("the same submission: found %v, %v; expected %s", again, err, waiting.Id)
	}
	select {
	case o := <-followed:
		if o.err != nil || o.job.State != control.JobState_JOB_STATE_DONE || o.job.Epoch != 1 ||
			o.missed != 0 || !maps.Equal(c.result(t, running.Id), want) {
			t.Errorf("the job that ran: found %v, %v, %d events missed", o.job, o.err, o.missed)
		}
	case <-time.After(patience):
		t.Fatal("the client does not hear of its job")
	}
	mu.Lock()
	if text := strings.Join(reasons, "\n"); !strings.Contains(text,
		"the master restarted, and continues the job") ||
		strings.Contains(text, "begins again") {
		t.Errorf("the client heard of %q", text)
	}
	mu.Unlock()
	if j, _ := c.watch(t, waiting.Id, nil); j.State != control.JobState_JOB_STATE_DONE ||
		j.Epoch != 1 || !maps.Equal(c.result(t, j.Id), want) {
		t.Errorf("the job that waited: found %v", j)
	}
	for _, was := range []*control.Job{ended, failed} {
		j, _ := c.watch(t, was.Id, nil)
		if j.State != was.State || j.Reason != was.Reason || j.Supersteps != was.Supersteps ||
			j.Messages != was.Messages || !j.Submitted.AsTime().Equal(was.Submitted.AsTime()) {
			t.Errorf("a job that had ended: found %v, expected %v", j, was)
		}
	}
	if !maps.Equal(c.result(t, ended.Id), want) {
		t.Error("the result of a job that had ended is another")
	}
	if j := c.job(t, unwanted.Id); j.State != control.JobState_JOB_STATE_CANCELLED {
		t.Errorf("the job that was cancelled: found %v", j)
	}
	if found := c.becomes(t, "web", control.GraphState_GRAPH_STATE_READY); found.Load != web.Load ||
		found.Bytes != web.Bytes {
		t.Errorf("the graph: found %v, expected %v", found, web)
	}
	c.becomes(t, "large", control.GraphState_GRAPH_STATE_READY)
	// A dropped graph stays dropped, although a worker that was away has a share.
	if _, err := c.Client.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "large"}); err != nil {
		t.Error(err)
	}
	c.StopMaster()
	c.StartMaster(c.Address)
	c.Await(2)
	c.becomes(t, "web", control.GraphState_GRAPH_STATE_READY)
	if r, err := c.Client.ListGraphs(t.Context(),
		&control.ListGraphsRequest{}); err != nil || len(r.Graphs) != 1 {
		t.Errorf("found %v, %v", r, err)
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("the client said %q", lines)
}
