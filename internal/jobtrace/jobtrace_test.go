package jobtrace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// transcript is a journal that records its calls as text.
type transcript struct{ lines *[]string }

func (t transcript) add(format string, args ...any) error {
	*t.lines = append(*t.lines, fmt.Sprintf(format, args...))
	return nil
}

func (t transcript) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if e.More {
			return t.add("on %d vertices", e.Vertices)
		}
		return t.add("begin %s %s on %s, %s, at %d", e.Job, e.Program, e.Graph, e.Grid,
			e.Began.Unix())
	case *record.Superstep:
		for _, p := range e.Partitions {
			_ = t.add("%s %d/%d %s %s active %d messages %d sent %d bytes %d total %g wait %g %s %g in %g", e.Job, e.Superstep, p.Partition, e.Scheme,
				e.Delivery, p.Computed, p.Messages, p.Sent, p.Bytes, p.Times.Total, p.Times.Wait,
				e.Reason, e.Predicted[e.Scheme], e.Actual)
		}
	case *trace.End:
		text := ""
		for name, value := range e.Aggregators {
			text += fmt.Sprintf(", %s %s", name, value)
		}
		return t.add("end %s %s after %d in %g: %s%s", e.Job, cmp.Or(string(e.Ended), e.State),
			e.Supersteps, e.Seconds, e.Error, text)
	case *trace.Stage:
		switch {
		case e.Job != "j1":
			return t.add("stage of %q", e.Job)
		case e.Seconds == 0:
			return t.add("%s %s %d of %d", e.Stage, e.Part, e.Done, e.Total)
		}
		return t.add("stage %s %g", strings.TrimSpace(e.Stage+" "+e.Part), e.Seconds)
	case *trace.Log:
		return t.add("log %s", e.Text)
	}
	return nil
}

var spec = &jobspec.Spec{Program: "bfs", Source: &jobspec.Source{Input: "star:vertices=3"}}

func changed(state control.JobState, about *control.Job) *control.JobEvent {
	about.Id, about.SpecJson, about.State = "j1", jobspec.Text(spec), state
	about.Submitted = timestamppb.New(time.Unix(90, 0))
	if state > control.JobState_JOB_STATE_QUEUED && about.Reason != "early" {
		about.Started = timestamppb.New(time.Unix(100, 0))
	}
	if state.Ended() {
		about.Ended = timestamppb.New(time.Unix(103, 0))
	}
	return &control.JobEvent{Body: &control.JobEvent_Job{Job: about}}
}

// recorded returns the event of a superstep.
func recorded(t *testing.T, s *record.Superstep) *control.JobEvent {
	data, err := control.EncodeRecord(s)
	if err != nil {
		t.Fatal(err)
	}
	return &control.JobEvent{Body: &control.JobEvent_Record{Record: data}}
}

func TestObserver(t *testing.T) {
	record := recorded(t, &record.Superstep{
		Superstep: 4, Scheme: "pull", Delivery: "pull", Seconds: 3, Reason: "few",
		Predicted: map[string]float64{"pull": 2}, Actual: 1.5,
		Partitions: []record.Partition{
			{Computed: 1, Messages: 5, Sent: 4, Bytes: 9, Times: record.Seconds{Traverse: 1, Wait: 1.5, Total: 3}},
			{Partition: 1, Times: record.Seconds{Compute: 3, Total: 3}},
		},
	})
	progress := &control.JobEvent{Body: &control.JobEvent_Progress{Progress: &control.Progress{Stage: "reading", Done: 1, Total: 2}}}
	log := &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{Text: "hello"}}}
	stored := &control.JobEvent{Body: &control.JobEvent_Checkpoint{
		Checkpoint: &control.Stored{Superstep: 5, Seconds: .125},
	}}
	begun := "begin j1 bfs on star:vertices=3, 2x1, at 100"
	for name, c := range map[string]struct {
		events []*control.JobEvent
		want   []string
	}{
		"done": {
			[]*control.JobEvent{
				record, // of an unknown job
				changed(control.JobState_JOB_STATE_QUEUED, &control.Job{}),
				changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1}),
				progress,
				changed(control.JobState_JOB_STATE_RUNNING,
					&control.Job{LoadSeconds: .5, Vertices: 3}),
				progress, // late
				record, stored, log,
				changed(control.JobState_JOB_STATE_WRITING, &control.Job{}),
				progress,
				changed(control.JobState_JOB_STATE_DONE, &control.Job{
					RunSeconds: 2, WriteSeconds: .25, EndedBy: string(trace.Converged),
					Supersteps:  5,
					Aggregators: []*control.Aggregator{{Name: "sum", Json: "[1]"}, {Name: "long"}},
				}),
				record, log, // too late
			},
			[]string{
				"waits: ", begun, "loading reading 1 of 2", "on 3 vertices", "stage loading 0.5",
				"j1 4/0 pull pull active 1 messages 5 sent 4 bytes 9 total 3 wait 1.5 few 2 in 1.5",
				"j1 4/1 pull pull active 0 messages 0 sent 0 bytes 0 total 3 wait 0 few 2 in 1.5",
				"stage checkpoint superstep 5 0.125", "log hello", "writing  0 of 0", "writing  1 of 2", "stage writing 0.25",
				"end j1 converged after 5 in 2: , sum [1]",
			},
		},
		"failed": {
			[]*control.JobEvent{
				changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1}),
				changed(control.JobState_JOB_STATE_FAILED, &control.Job{Reason: "no such file"}),
			},
			[]string{begun, "end j1 failed after 0 in 0: no such file"},
		},
		"limit": {
			[]*control.JobEvent{
				changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1}),
				changed(control.JobState_JOB_STATE_DONE,
					&control.Job{EndedBy: string(trace.Limit), Supersteps: 7, RunSeconds: 1.5}),
			},
			[]string{begun, "end j1 limit after 7 in 1.5: "},
		},
		"begins again": {
			[]*control.JobEvent{
				changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1}),
				changed(control.JobState_JOB_STATE_QUEUED,
					&control.Job{Reason: "a loss", Supersteps: 3}),
				changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1}),
				changed(control.JobState_JOB_STATE_DONE,
					&control.Job{EndedBy: string(trace.Converged), Supersteps: 7}),
			},
			[]string{begun, "end j1 failed after 3 in 0: a loss", "waits: a loss", begun, "end j1 converged after 7 in 0: "},
		},
		"cancelled in the queue": {
			[]*control.JobEvent{
				changed(control.JobState_JOB_STATE_QUEUED, &control.Job{Reason: "no worker"}),
				changed(control.JobState_JOB_STATE_CANCELLED, &control.Job{Reason: "early"}),
			},
			[]string{"waits: no worker", "begin j1 bfs on star:vertices=3, , at 90", "end j1 cancelled after 0 in 0: early"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			to := transcript{&lines}
			observer := &Observer{
				New:    func() trace.Journal { return trace.Tee{to} },
				Queued: func(_ *trace.Job, reason string) { _ = to.add("waits: %s", reason) },
			}
			for _, e := range c.events {
				observer.Event("j1", e)
			}
			if !slices.Equal(lines, c.want) {
				t.Errorf("found\n%s\nexpected\n%s", strings.Join(lines, "\n"),
					strings.Join(c.want, "\n"))
			}
			if len(observer.jobs) != 0 {
				t.Error("a job that has ended is remembered")
			}
		})
	}
}

// TestBegin: the owner, the name and the priority are recorded if they are not the defaults.
func TestBegin(t *testing.T) {
	for _, c := range []struct {
		owner, named string
		priority     string
		said         string
	}{
		{"anyone", "", "", ""},
		{"token", "", "normal", ""},
		{"alice", "alice", "low", "low"},
		{"olga", "olga", "high", "high"},
	} {
		b := new(Observer).begin(&control.Job{Id: "j1", Owner: c.owner, SpecJson: jobspec.Text(&jobspec.Spec{Program: "bfs", Graph: "g", Queueing: jobspec.Queueing{Priority: c.priority}})})
		if b.Owner != c.named || b.Priority != c.said {
			t.Errorf("%s, %s: found %q, %q", c.owner, c.priority, b.Owner, b.Priority)
		}
	}
}

// TestRecordsOfAnotherVersion: unreadable supersteps are reported once.
func TestRecordsOfAnotherVersion(t *testing.T) {
	var lines []string
	o := &Observer{New: func() trace.Journal { return transcript{&lines} }}
	o.Event("j1",
		&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{Id: "j1", State: control.JobState_JOB_STATE_RUNNING, SpecJson: jobspec.Text(spec)}}})
	before := len(lines)
	for range 3 {
		o.Event("j1", &control.JobEvent{Body: &control.JobEvent_Record{Record: []byte{250, 1, 2}}})
	}
	if said := lines[before:]; len(said) != 1 || !strings.HasPrefix(said[0],
		"log supersteps are missing here: a superstep's record: found version fa, expected ") {
		t.Errorf("found %q", said)
	}
}

// TestRecordsNameNoOtherJob: a worker's record counts for the job that it runs, and names a search
// of Graph500 alone.
func TestRecordsNameNoOtherJob(t *testing.T) {
	foreign := recorded(t,
		&record.Superstep{Job: "j2", Scheme: "pull", Partitions: make([]record.Partition, 1)})
	for of, about := range map[string]*jobspec.Spec{
		"j1 ": spec,
		"j2 ": {Program: trace.Graph500, Graph500: &jobspec.Graph500{Scale: 3}},
	} {
		var lines []string
		o := &Observer{New: func() trace.Journal { return transcript{&lines} }}
		o.Event("j1",
			&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{Id: "j1", State: control.JobState_JOB_STATE_RUNNING, SpecJson: jobspec.Text(about)}}})
		o.Event("j1", foreign)
		if !slices.ContainsFunc(lines,
			func(line string) bool { return strings.HasPrefix(line, of+"0/0 pull") }) {
			t.Errorf("%s: found %q, expected a superstep of %q", about.Program, lines, of)
		}
	}
}

// TestOfficialTimes: a running job of Graph500 has the official times of its graph, if they are
// possible.
func TestOfficialTimes(t *testing.T) {
	o := &Observer{}
	for _, c := range []struct{ generation, construction, known float64 }{
		{1, 2, 2}, {0, 2, 2}, {1, math.NaN(), 0}, {math.Inf(1), 2, 0}, {-1, 2, 0},
	} {
		b := o.begin(&control.Job{
			Id: "j1", SpecJson: jobspec.Text(spec),
			Graph500: &control.Graph500Result{Generation: c.generation, Construction: c.construction},
		})
		if b.Construction != c.known || c.known == 0 && b.Generation != 0 {
			t.Errorf("%+v: found %g s and %g s", c, b.Generation, b.Construction)
		}
	}
}

// TestTextsOfJobsAreShort: long parameters and reasons make no long lists.
func TestTextsOfJobsAreShort(t *testing.T) {
	store := history.NewNamedStore()
	o := &Observer{Queued: store.Queue, New: func() trace.Journal { return store }}
	long := strings.Repeat("1,", 30_000)
	text := jobspec.Text(&jobspec.Spec{Program: "pagerank", Graph: "g", Parameters: map[string]string{"sources": long}})
	for _, state := range []control.JobState{
		control.JobState_JOB_STATE_QUEUED, control.JobState_JOB_STATE_RUNNING,
		control.JobState_JOB_STATE_QUEUED, control.JobState_JOB_STATE_RUNNING,
		control.JobState_JOB_STATE_FAILED,
	} {
		o.Event("j1", &control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{Id: "j1", State: state, SpecJson: text, Reason: long}}})
		data, err := json.Marshal(store.Jobs())
		if err != nil || len(data) > 12<<10 || !strings.Contains(string(data), `"sources":"1,1,`) {
			t.Errorf("%s: a list has %d bytes, %v", state.Word(), len(data), err)
		}
	}
}

// ends notes the reports of ends.
type ends struct{ reports *[]string }

func (e ends) Record(event trace.Event) error {
	if end, ok := event.(*trace.End); ok {
		*e.reports = append(*e.reports, end.Report)
	}
	return nil
}

// TestReportOfALaterAttempt: a job that lost a worker and began again has its report.
func TestReportOfALaterAttempt(t *testing.T) {
	var reports []string
	o := &Observer{
		New:    func() trace.Journal { return ends{&reports} },
		Report: func(j *control.Job) string { return j.State.String() },
	}
	for _, state := range []control.JobState{
		control.JobState_JOB_STATE_RUNNING, control.JobState_JOB_STATE_QUEUED,
		control.JobState_JOB_STATE_RUNNING, control.JobState_JOB_STATE_DONE,
	} {
		o.Event("j1", &control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{
			Id: "j1", State: state, SpecJson: jobspec.Text(spec),
		}}})
	}
	if n := len(reports); n == 0 || reports[n-1] != control.JobState_JOB_STATE_DONE.String() {
		t.Errorf("found %q", reports)
	}
}
