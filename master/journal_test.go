package master

import (
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

func eventOf(bytes int) *control.JobEvent {
	return &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{Text: strings.Repeat("x", bytes)}}}
}

// counted checks the journal's counters, and returns its size in bytes.
func counted(t *testing.T, j *journal) int {
	t.Helper()
	bytes := 0
	for i, e := range j.events {
		bytes += proto.Size(e)
		if want := j.next - uint64(len(j.events)-i); e.Sequence != want {
			t.Fatalf("event %d has number %d, expected %d", i, e.Sequence, want)
		}
	}
	if bytes != j.bytes {
		t.Fatalf("%d bytes in %d events, %d counted", bytes, len(j.events), j.bytes)
	}
	return bytes
}

// TestJournalKeepsWithinItsBounds writes large and small events. The newest are kept within the
// limits of bytes and number.
func TestJournalKeepsWithinItsBounds(t *testing.T) {
	j := newJournal(0)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := random.IntN(200)
		if random.IntN(20) == 0 {
			n = 400 << 10
		}
		j.append(eventOf(n), false)
		if j.bytes > keepBytes {
			t.Fatalf("%d bytes are kept", j.bytes)
		}
	}
	if n := counted(t, j); n < keepBytes/2 {
		t.Errorf("only %d bytes are kept", n)
	}
	for range 2 * keepEvents {
		j.append(eventOf(1), false)
	}
	counted(t, j)
	if n := len(j.events); n < keepEvents || n > keepEvents+keepEvents/4 {
		t.Errorf("%d events are kept", n)
	}
	j.append(eventOf(9), true)
	trimEnded([]*journal{j, newJournal(0)}, 100)
	if n := counted(t, j); n > 100 || len(j.events) != 1 {
		t.Errorf("of a job that has ended %d bytes in %d events are kept", n, len(j.events))
	}
	if events, _, more := j.after(0); more || len(events) != 1 ||
		events[0].GetLog().Text != "xxxxxxxxx" {
		t.Errorf("found %d events, more %v", len(events), more)
	}
}

// TestJournalKeepsStates: a slow reader gets the job's state changes, even if so many supersteps
// followed that old records were dropped.
func TestJournalKeepsStates(t *testing.T) {
	j := newJournal(0)
	state := func(s control.JobState) {
		j.append(&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{State: s, Reason: "a worker was lost"}}}, false)
	}
	states := func() (n int) {
		for _, e := range j.events {
			if e.GetJob() != nil {
				n++
			}
		}
		return n
	}
	for range 3 {
		state(control.JobState_JOB_STATE_QUEUED)
		for range 3 * keepEvents {
			j.append(&control.JobEvent{Body: &control.JobEvent_Record{Record: []byte{1}}}, false)
		}
	}
	if n := len(j.events); states() != 3 || n > keepEvents+keepEvents/4+3 {
		t.Errorf("%d states of 3 are kept, of %d events", states(), n)
	}
	for range 2 * keepEvents {
		state(control.JobState_JOB_STATE_LOADING)
	}
	if n := len(j.events); n > keepEvents+keepEvents/4 {
		t.Errorf("%d events are kept", n)
	}
}

// TestJournalOfOneLargeEvent: the last event is kept however large it is, so a late reader learns
// how the job ended.
func TestJournalOfOneLargeEvent(t *testing.T) {
	j := newJournal(0)
	j.append(eventOf(1), false)
	j.append(eventOf(2*keepEndedBytes), true)
	trimEnded([]*journal{j, newJournal(0)}, keepEndedBytes)
	if counted(t, j); len(j.events) != 1 || j.events[0].Sequence != 2 {
		t.Errorf("%d events are kept", len(j.events))
	}
}

// TestLogLinesDisplaceNoRecords: if a program logs many lines, all superstep records are still kept
// for readers during the run and soon after its end.
func TestLogLinesDisplaceNoRecords(t *testing.T) {
	j := newJournal(0)
	record := &control.JobEvent{Body: &control.JobEvent_Record{Record: []byte{1}}}
	const supersteps = 1000
	for range supersteps {
		for range 20 {
			j.append(eventOf(10), false)
		}
		j.append(proto.CloneOf(record), false)
	}
	j.append(&control.JobEvent{Body: &control.JobEvent_Job{Job: &control.Job{}}}, true)
	check := func(when string, records, logs int) {
		t.Helper()
		events, _, _ := j.after(0)
		found, last := 0, uint64(0)
		for _, e := range events {
			if e.GetRecord() != nil {
				found++
			}
			if e.Sequence <= last {
				t.Fatalf("%s: event %d comes after event %d", when, e.Sequence, last)
			}
			last = e.Sequence
		}
		if n := len(events) - found - 1; found != records || n < logs || n > logs+logs/4 ||
			n != j.logs {
			t.Errorf("%s: %d records and %d log lines are kept, expected %d and %d", when, found, n,
				records, logs)
		}
		if more, _, _ := j.after(last - 1); len(more) != 1 {
			t.Errorf("%s: %d events follow the last but one", when, len(more))
		}
	}
	check("at the end", supersteps, keepEvents)
	trimEnded([]*journal{j, newJournal(0)}, keepEndedBytes)
	check("afterwards", supersteps, keepEvents)
}

// TestJournalsOfEndedJobs: the events of the oldest ended jobs are removed first, except the last
// event of each job.
func TestJournalsOfEndedJobs(t *testing.T) {
	var all []*journal
	for range 10 {
		j := newJournal(0)
		for range 9 {
			j.append(eventOf(1000), false)
		}
		j.append(eventOf(10), true)
		all = append(all, j)
	}
	trimEnded(all, 45_000)
	bytes := 0
	for i, j := range all {
		bytes += counted(t, j)
		if want := map[bool]int{true: 1, false: 10}[i < 6]; len(j.events) != want {
			t.Errorf("of job %d %d events are kept, expected %d", i, len(j.events), want)
		}
	}
	if bytes > 45_000 {
		t.Errorf("%d bytes are kept", bytes)
	}
}
