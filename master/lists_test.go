package master

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestListsFit: whatever texts jobs, graphs and workers contain, each list fits into 1 MiB and a
// status into 3. Lists have the newest jobs and the number of those left out.
func TestListsFit(t *testing.T) {
	s, err := New(Config{Options: Options{Data: t.TempDir()}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.results.close()
	long := strings.Repeat("x", 8<<10)
	c := s.cluster
	for i := range 1000 {
		spec := &jobspec.Spec{
			Program: long[:4096], Parameters: map[string]string{"p": long}, Form: long[:4096],
			Source: &jobspec.Source{Input: long[:4096], Vertices: long[:4096]},
		}
		j, err := c.enqueue(0, fmt.Sprint("owner", i/50), spec, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		j.reason = long
		name := fmt.Sprint("g", i)
		c.graphs[name] = &graph{
			name: name, source: spec.Source, state: control.GraphState_GRAPH_STATE_FAILED,
			reason: long,
			report: &control.LoadReport{Notes: []string{long}, Skipped: []string{long}},
		}
	}
	ways := make([]*control.Way, 256)
	for k := range ways {
		ways[k] = &control.Way{Worker: fmt.Sprint("worker",
			k), BytesPerSecond: 1e9, DelaySeconds: 1e-3}
	}
	for i := range 1000 {
		name := fmt.Sprint("worker", i)
		c.workers[name] = &worker{name: name, state: control.WorkerState_WORKER_STATE_REGISTERED, ways: ways, about: &control.RegisterRequest{}}
	}
	jobs, err := s.ListJobs(t.Context(), &control.ListJobsRequest{Ended: true})
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := s.ListGraphs(t.Context(), &control.ListGraphsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	workers, err := s.ListWorkers(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]proto.Message{"jobs": jobs, "graphs": graphs, "workers": workers} {
		if n := proto.Size(m); n > 1<<20+64 || n < 16<<10 {
			t.Errorf("%s: found %d bytes", name, n)
		}
	}
	status := s.status()
	if n := proto.Size(status); n > 3<<20+1<<10 {
		t.Errorf("the status has %d bytes", n)
	}
	if all := jobs.Jobs; len(all) < 300 || len(all)+int(jobs.More) != 1000 ||
		all[len(all)-1].Id != c.order[999].id {
		t.Errorf("found %d jobs and %d more, the last %s", len(all), jobs.More,
			all[len(all)-1].Id)
	}
	if all := graphs.Graphs; len(all) < 300 || len(all)+int(graphs.More) != 1000 {
		t.Errorf("found %d graphs and %d more", len(all), graphs.More)
	}
	if len(workers.Workers) != 1000 || status.More == 0 {
		t.Errorf("found %d workers, and a status without %d", len(workers.Workers), status.More)
	}
	if text := control.StatusText(status); len(text) > 4<<20 ||
		!strings.Contains(text, "more, omitted from this list") {
		t.Errorf("found a text of %d bytes", len(text))
	}
}

// TestBoundsOfTheMaster: at most 4 MiB of descriptions per owner wait, the catalog has at most
// 1,000 graphs, and at most 4,096 worker names are known. A new name replaces the one that has been
// lost for the longest time.
func TestBoundsOfTheMaster(t *testing.T) {
	c := newCluster(rules{queue: 10000, ended: 10, lease: 1})
	spec := func() *jobspec.Spec {
		return &jobspec.Spec{Program: "p", Parameters: map[string]string{"p": strings.Repeat("x",
			64<<10-100)}, Source: &jobspec.Source{Input: "g"}}
	}
	for i := range 70 {
		_, err := c.enqueue(0, "alice", spec(), "", 0)
		if refused := connect.CodeOf(err) == connect.CodeResourceExhausted; refused != (i >= 64) {
			t.Fatalf("job %d: %v", i, err)
		}
	}
	if _, err := c.enqueue(0, "bob", spec(), "", 0); err != nil {
		t.Error(err)
	}
	for i := range 1001 {
		name := fmt.Sprint("g", i)
		if c.graphs[name] = (&graph{name: name, state: control.GraphState_GRAPH_STATE_FAILED}); i == 1000 {
			delete(c.graphs, name)
		}
	}
	source := &jobspec.Source{Input: "path:vertices=3"}
	if err := c.loadGraph("alice", "new", source, 0,
		0); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(),
		"1000 graphs") {
		t.Errorf("found %v", err)
	}
	if err := c.loadGraph("alice", "g7", source, 0,
		0); connect.CodeOf(err) == connect.CodeResourceExhausted {
		t.Errorf("a graph that failed: %v", err)
	}
	register := func(i int) error {
		name := fmt.Sprint("w", i)
		_, err := c.register(0,
			&control.RegisterRequest{Name: name, Instance: name, Protocol: control.Protocol})
		return err
	}
	for i := range 4200 {
		if err := register(i); (err != nil) != (i >= 4096) {
			t.Fatalf("worker %d: %v", i, err)
		}
	}
	c.lose(1, c.workers["w5"], "silent")
	if err := register(9000); err != nil || len(c.workers) != 4096 || c.workers["w5"] != nil {
		t.Errorf("found %v, %d workers", err, len(c.workers))
	}
}
