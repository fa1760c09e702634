package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// crowded returns a master with 600 jobs, of which the first is running, and 600 graphs. They
// exceed the size of a list.
func crowded(t *testing.T) *server {
	t.Helper()
	s, err := New(Config{Options: Options{Data: t.TempDir()}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.results.close)
	long := strings.Repeat("x", 1900)
	for i := range 600 {
		spec := &jobspec.Spec{Program: "p", Source: &jobspec.Source{Input: long}}
		j, err := s.cluster.enqueue(0, fmt.Sprint("owner", i/50), spec, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if j.reason = long; i == 0 {
			j.state = control.JobState_JOB_STATE_RUNNING
		}
		name := fmt.Sprintf("g%03d", i)
		s.cluster.graphs[name] = &graph{
			name: name, source: spec.Source, state: control.GraphState_GRAPH_STATE_FAILED,
			reason: long, report: &control.LoadReport{},
		}
	}
	return s
}

// TestRunningJobsAreListed: a status contains the running jobs however many others wait. Metrics
// count all jobs.
func TestRunningJobsAreListed(t *testing.T) {
	s := crowded(t)
	status := s.status()
	if j := status.Jobs[0]; j.Id != s.cluster.order[0].id || status.More == 0 {
		t.Errorf("the first of %d jobs, beside %d more, is %s %v", len(status.Jobs), status.More,
			j.Id, j.State)
	}
	if all := s.whole(); len(all.Jobs) != 600 || len(all.Graphs) != 600 {
		t.Errorf("metrics see %d jobs and %d graphs", len(all.Jobs), len(all.Graphs))
	}
}

// TestPagesOfLists: the pages of a list contain all jobs and graphs exactly once. Each page reports
// whether more follow.
func TestPagesOfLists(t *testing.T) {
	s := crowded(t)
	var jobs []string
	for q, more := (&control.ListJobsRequest{Ended: true}), true; more; {
		r, err := s.ListJobs(t.Context(), q)
		if err != nil || len(r.Jobs) == 0 {
			t.Fatal(r, err)
		}
		var page []string
		for _, j := range r.Jobs {
			if page = append(page, j.Id); !j.Brief {
				t.Errorf("job %s does not say that it is cut", j.Id)
			}
		}
		jobs = append(page, jobs...)
		q.Before, more = page[0], r.More > 0
	}
	if !slices.Equal(jobs, s.cluster.ids()) {
		t.Errorf("the pages have %d jobs, expected the %d there are", len(jobs),
			len(s.cluster.order))
	}
	if _, err := s.ListJobs(t.Context(),
		&control.ListJobsRequest{Before: "none"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("before a job that there is not: %v", err)
	}
	var graphs []string
	for q, more := (&control.ListGraphsRequest{}), true; more; {
		r, err := s.ListGraphs(t.Context(), q)
		if err != nil || len(r.Graphs) == 0 {
			t.Fatal(r, err)
		}
		for _, g := range r.Graphs {
			if graphs = append(graphs, g.Name); !g.Brief {
				t.Errorf("graph %s does not say that it is cut", g.Name)
			}
		}
		q.After, more = graphs[len(graphs)-1], r.More > 0
	}
	if len(graphs) != 600 || !slices.IsSorted(graphs) {
		t.Errorf("the pages have %d graphs", len(graphs))
	}
	text := control.JobsText(
		&control.ListJobsResponse{Jobs: []*control.Job{{Id: "f00d-7"}}, More: 3}, true)
	if !strings.Contains(text, "and 3 more, omitted from this list: --before f00d-7\n") {
		t.Errorf("found %q", text)
	}
}

// TestWordsOfWorkersAreBounded: texts from workers about themselves and the network are limited.
func TestWordsOfWorkersAreBounded(t *testing.T) {
	c := newCluster(rules{lease: 1})
	long := strings.Repeat("x", 257)
	for _, r := range []*control.RegisterRequest{{Version: long}, {Instance: long}, {DataAddress: long}, {HttpAddress: long}} {
		r.Name, r.Protocol = "w", control.Protocol
		_, err := c.register(0, r)
		if refused := (*control.RefusedError)(nil); !errors.As(err, &refused) ||
			refused.Kind != control.Refusal_KIND_INVALID {
			t.Errorf("found %v", err)
		}
	}
	if _, err := c.register(0,
		&control.RegisterRequest{Name: "w", Protocol: control.Protocol, Version: long[:256]}); err != nil {
		t.Fatal(err)
	}
	ways := []*control.Way{{Worker: long}}
	for i := range 1000 {
		ways = append(ways, &control.Way{Worker: fmt.Sprint("w", i)})
	}
	w := c.workers["w"]
	if c.beat(0, w, &control.Heartbeat{Ways: ways}); len(w.ways) != 256 ||
		w.ways[0].Worker != "w0" {
		t.Errorf("found %d ways, the first to %.20q", len(w.ways), w.ways[0].Worker)
	}
}

// TestReasonsOfExitsAreBounded: the reason for a worker's exit is one line of at most 4 KiB. Only
// the incarnation that ended has it.
func TestReasonsOfExitsAreBounded(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	incarnation, err := s.cluster.register(0,
		&control.RegisterRequest{Name: "w", Instance: "i", Protocol: control.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []uint64{incarnation + 1, incarnation} {
		r := &control.ReportExitRequest{Name: "w", Incarnation: of, Reason: strings.Repeat("killed\n\tby someone ", 10_000)}
		if _, err := s.ReportExit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w := s.cluster.workers["w"]
		if lost := w.state == control.WorkerState_WORKER_STATE_LOST; lost != (of == incarnation) {
			t.Errorf("incarnation %d of %d: lost %v", of, incarnation, lost)
		}
		if len(w.reason) > 4<<10 || strings.ContainsAny(w.reason, "\n\t") || of == incarnation &&
			!strings.HasPrefix(w.reason, "killed by someone killed") {
			t.Errorf("found a reason of %d bytes: %.60q", len(w.reason), w.reason)
		}
	}
}

// TestNamesOfACertificate: one certificate can register at most half of all worker names. When it
// needs room, its own lost workers are removed, not those of others.
func TestNamesOfACertificate(t *testing.T) {
	c := newCluster(rules{lease: 1})
	register := func(by, name string) error {
		_, err := c.registerBy(0, by,
			&control.RegisterRequest{Name: name, Instance: name, Protocol: control.Protocol})
		return err
	}
	if err := register("bob", "b0"); err != nil {
		t.Fatal(err)
	}
	c.lose(0, c.workers["b0"], "silent")
	for i := range 2049 {
		if err := register("alice", fmt.Sprint("a", i)); (err != nil) != (i == 2048) {
			t.Fatalf("worker %d: %v", i, err)
		}
	}
	if err := register("bob", "b1"); err != nil {
		t.Error(err)
	}
	c.lose(1, c.workers["a7"], "silent")
	if err := register("alice", "another"); err != nil || c.workers["a7"] != nil ||
		c.workers["b0"] == nil {
		t.Errorf("found %v, a7 %v, b0 %v", err, c.workers["a7"] != nil, c.workers["b0"] != nil)
	}
}

// TestDropOfAGraphInUse: the error has another code if the job that needs the graph is being
// cancelled, because a client should then retry soon.
func TestDropOfAGraphInUse(t *testing.T) {
	c := newCluster(rules{lease: 1})
	c.graphs["g"] = &graph{name: "g", state: control.GraphState_GRAPH_STATE_READY}
	j := &job{id: "j1", spec: &jobspec.Spec{Graph: "g"}, state: control.JobState_JOB_STATE_RUNNING}
	c.jobs[j.id], c.order = j, []*job{j}
	for _, want := range []connect.Code{connect.CodeFailedPrecondition, connect.CodeAborted} {
		j.cancelled = want == connect.CodeAborted
		if _, err := c.dropGraph("g"); connect.CodeOf(err) != want {
			t.Errorf("found %v, expected %v", err, want)
		}
	}
}

// TestTextsOfWorkersAreBounded: long lines and stages of a worker are cut before they are stored.
func TestTextsOfWorkersAreBounded(t *testing.T) {
	s, err := New(
		Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	j, err := s.cluster.enqueue(0, "me",
		&jobspec.Spec{Program: "mine", Source: &jobspec.Source{Input: "path:vertices=3"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.event(func() {}) // its journal begins
	r := &run{
		server: s, job: j, id: j.id, spec: j.spec, heard: map[string]uint64{},
		team: []*control.Placement{{Worker: "w"}},
	}
	long := strings.Repeat("x", control.MaxMessage)
	err = r.tell("w", &control.DriveReport{
		Log: []string{long}, Stages: []*control.BenchmarkStage{{Stage: long}},
	})
	s.advanced("w", &control.Progress{Job: j.id, Stage: long})
	s.mu.Lock()
	journal := s.journals[j.id]
	s.mu.Unlock()
	told := 0
	for _, e := range journal.events {
		if e.GetLog() != nil || e.GetStage() != nil {
			told++
		}
		if n := proto.Size(e); n > 65<<10 {
			t.Errorf("an event has %d bytes", n)
		}
	}
	if far := journal.far.sum(); err != nil || told != 2 || len(far.GetStage()) > control.MaxName {
		t.Errorf("found %d events, %v, and a stage of %d bytes", told, err, len(far.GetStage()))
	}
}
