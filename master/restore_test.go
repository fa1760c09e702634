package master

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/standby"
)

// TestReasonAfterARestart: when a lost worker is given up or back, waiting jobs no longer have the
// reason that they wait for it. This includes reasons recorded by an earlier master.
func TestReasonAfterARestart(t *testing.T) {
	c := newCluster(rules{lease: time.Second, settle: 4 * time.Second, running: 1, queue: 9, ended: 9, retries: 2})
	spec := &jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}}
	c.restoreJob(&job{
		id: "a-1", number: 1, spec: spec, state: control.JobState_JOB_STATE_RUNNING, driving: true,
		epoch: 1,
		site:  site{placements: []*control.Placement{{Worker: "w1", Incarnation: 1}}},
	})
	c.restoreJob(&job{id: "a-2", number: 2, spec: spec, state: control.JobState_JOB_STATE_QUEUED})
	c.restoreJob(&job{id: "a-3", number: 3, spec: spec, state: control.JobState_JOB_STATE_QUEUED, confirm: time.Hour, reason: "waits for w9" + toComeBack})
	c.schedule(0)
	if found := c.jobs["a-2"].reason; found != "waits for w1"+toComeBack {
		t.Errorf("while the worker is awaited: found %q", found)
	}
	c.take()
	c.schedule(5 * time.Second)
	for _, id := range []string{"a-2", "a-3"} {
		if j := c.jobs[id]; j.reason != "" || j.state != control.JobState_JOB_STATE_QUEUED {
			t.Errorf("%s when it is given up: found %s %q", id, j.state.Word(), j.reason)
		}
	}
	told := 0
	for _, e := range c.take() {
		if turned, ok := e.(jobTurned); ok && turned.reason == "" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d jobs were reported, expected 2", told)
	}
}

// TestHealthOfAStandby: a standby master is healthy, and explains why it is not ready.
func TestHealthOfAStandby(t *testing.T) {
	for page, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/other": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		standsBy(w, httptest.NewRequest(http.MethodGet, page, nil))
		text := strings.TrimSpace(w.Body.String())
		if w.Code != want || page == "/readyz" && text != errStandby.Error() ||
			page == "/healthz" && text != "ok" {
			t.Errorf("%s: found %d %q", page, w.Code, text)
		}
	}
}

// TestCancelledBeforeARestart: a cancellation that an earlier master began also appears in the
// journal.
func TestCancelledBeforeARestart(t *testing.T) {
	s := &server{
		options:  &Config{Master: daemon.Master{Process: daemon.Process{Now: time.Now}}},
		log:      slog.New(slog.DiscardHandler),
		journals: map[string]*journal{}, runs: map[string]*run{}, state: &standby.Log{},
		cluster: newCluster(rules{lease: time.Second, queue: 9, ended: 9, retries: 2}),
	}
	about := &control.Job{Id: "a-1", State: control.JobState_JOB_STATE_RUNNING, Epoch: 1}
	about.SpecJson = jobspec.Text(&jobspec.Spec{Program: "wcc"})
	s.restore(&saved{jobs: []*control.JobRecord{{Job: about, Number: 1, Cancelled: true}}})
	if j := s.cluster.jobs["a-1"]; j.state != control.JobState_JOB_STATE_CANCELLED {
		t.Fatalf("found state %s", j.state.Word())
	}
	if s.journals["a-1"] != nil || len(s.past) > 0 {
		t.Error("the journal ends with the state before the restart")
	}
}
