package master

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// TestSentIsWithheld: only its owner and operators see the ids and checksums of what was sent for a
// job, and may use it in other jobs.
func TestSentIsWithheld(t *testing.T) {
	s, err := New(Config{Options: Options{Data: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	go s.write()
	defer func() {
		close(s.commits.end)
		<-s.commits.ended
		s.gone()
	}()
	id := rand.Text()
	as := func(name string, roles certs.Role) context.Context {
		return control.As(t.Context(), control.Caller{Name: name, Roles: roles})
	}
	if _, err := s.SendColumn(as("alice", control.Using),
		&control.SendColumnRequest{Id: id, Data: []byte("set"), Last: true}); err != nil {
		t.Fatal(err)
	}
	submit := func(ctx context.Context, file string) (string, error) {
		j, _, err := s.Submit(ctx, &control.SubmitJobRequest{SpecJson: jobspec.Text(&jobspec.Spec{
			Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3", Within: file},
			Sets: map[string]*jobspec.ColumnData{file: sentAs(id, "set")},
		})})
		return j.GetId(), err
	}
	first, err := submit(as("alice", control.Using), "a.vset")
	if err != nil {
		t.Fatal(err)
	}
	s.gate.TLS = &certs.Files{}
	for _, c := range []struct {
		who   string
		roles certs.Role
		may   bool
	}{
		{"bob", control.Using, false},
		{"", control.Reading, false},
		{"alice", control.Using, true},
		{"olga", control.Using | certs.Operator, true},
	} {
		ctx := as(c.who, c.roles)
		j, err := s.GetJob(ctx, &control.GetJobRequest{Id: first})
		if err != nil || (j.Spec().Sets["a.vset"].Sum != nil) != c.may ||
			strings.Contains(j.SpecJson, id) != c.may || j.Spec().Source.Within != "a.vset" {
			t.Errorf("%q: found %v, %v", c.who, j, err)
		}
		_, err = submit(ctx, "b.vset")
		if c.may != (err == nil) || !c.may && (connect.CodeOf(err) != connect.CodePermissionDenied ||
			!strings.Contains(err.Error(), "vertex set b.vset of job "+first+" is of alice")) {
			t.Errorf("%q: found %v", c.who, err)
		}
	}
}

// TestReadersDoNotSeeFiles: an error may quote a file. Only the owner and operators see the
// quotation, in every answer with a reason.
func TestReadersDoNotSeeFiles(t *testing.T) {
	var watched []string
	s, err := New(Config{Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}, Watch: func(_ string, e *control.JobEvent) { watched = append(watched, e.String()) }}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.gone()
	s.gate.TLS = &certs.Files{}
	const reason = `worker w1: /data/g.el:7:3: found "SECRET, expected nothing", expected an id`
	c := s.cluster
	c.graphs["g"] = &graph{
		name: "g", owner: "alice", source: &jobspec.Source{Input: "g.el"},
		state: control.GraphState_GRAPH_STATE_FAILED, reason: reason,
		report: &control.LoadReport{Skipped: []string{"SECRET"}},
	}
	j, err := c.enqueue(0, "alice",
		&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "g.el"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.event(func() { c.end(0, j, control.JobState_JOB_STATE_FAILED, reason) })
	as := func(name string, roles certs.Role) context.Context {
		return control.As(t.Context(), control.Caller{Name: name, Roles: roles})
	}
	for who, want := range map[string]bool{"alice": true, "olga": true, "bob": false, "rita": false, "": false} {
		ctx := as(who,
			map[string]certs.Role{"alice": control.Using, "olga": control.Reading | certs.Operator, "bob": control.Using, "rita": certs.Reader}[who])
		answers := map[string]any{}
		take := func(what string, answer any, err error) {
			if answers[what] = answer; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		job, err := s.GetJob(ctx, &control.GetJobRequest{Id: j.id})
		take("a job", job, err)
		jobs, err := s.ListJobs(ctx, &control.ListJobsRequest{Ended: true})
		take("jobs", jobs, err)
		g, err := s.InspectGraph(ctx, &control.InspectGraphRequest{Name: "g"})
		take("a graph", g, err)
		graphs, err := s.ListGraphs(ctx, &control.ListGraphsRequest{})
		take("graphs", graphs, err)
		status, err := s.Status(ctx, &control.StatusRequest{})
		take("a status", status, err)
		events, _, _ := s.journals[j.id].after(0)
		for _, e := range append(events,
			&control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{Text: reason}}}) {
			if text := e.String(); strings.Contains(text, "SECRET") {
				take("an event", s.shownEvent(ctx, "alice", e), nil)
			}
		}
		for what, answer := range answers {
			text := fmt.Sprint(answer)
			if strings.Contains(text, "SECRET") != want ||
				!strings.Contains(text, "g.el:7:3: found ") {
				t.Errorf("%q gets from %s: %s", who, what, text)
			}
		}
		if len(answers) != 6 {
			t.Errorf("found %d answers", len(answers))
		}
	}
	if text := strings.Join(watched, "\n"); !strings.Contains(text, "g.el:7:3") ||
		strings.Contains(text, "SECRET") {
		t.Errorf("the page is told %s", text)
	}
	s.gate.TLS = nil
	if r, err := s.GetJob(as("", 0),
		&control.GetJobRequest{Id: j.id}); err != nil ||
		r.Reason != reason {
		t.Errorf("without certificates: %v, %v", r, err)
	}
}
