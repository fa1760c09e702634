package control

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/job"
)

// TestPrioritiesOfJobs: the column exists if a job's priority is not normal. It marks priorities
// that have risen.
func TestPrioritiesOfJobs(t *testing.T) {
	queued := func(id string, asked, now Priority) *Job {
		return &Job{Id: id, State: JobState_JOB_STATE_QUEUED, SpecJson: job.Text(&job.Spec{Program: "bfs", Graph: "g", Queueing: job.Queueing{Priority: asked.Word()}}), Priority: now, Submitted: timestamppb.Now()}
	}
	const low, normal, high, none = Priority_PRIORITY_LOW, Priority_PRIORITY_NORMAL,
		Priority_PRIORITY_HIGH, Priority_PRIORITY_UNSPECIFIED
	usual := []*Job{queued("j1", none, normal), queued("j2", normal, normal), queued("j3", normal,
		none)}
	if text := Columns(JobsText(&ListJobsResponse{Jobs: usual, Now: timestamppb.Now()}, true),
		0); strings.Contains(text, "PRIORITY") || strings.Contains(text, "normal") {
		t.Errorf("found\n%s", text)
	}
	all := append(usual, queued("j4", low, high), queued("j5", high, high), queued("j6", low, none))
	lines := strings.Split(
		Columns(JobsText(&ListJobsResponse{Jobs: all, Now: timestamppb.Now()}, true), 0),
		"\n")
	for i, want := range []string{"GRAPH  PRIORITY", "g      normal ", "g      normal ", "g      normal ", "g      low, now high  ", "g      high ", "g      low "} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("found %q, expected %q in it", lines[i], want)
		}
	}
}

// TestMemoryOfStatus: the limits and use of the workers' memory. For a worker without a budget, it
// shows the memory that was free at its start.
func TestMemoryOfStatus(t *testing.T) {
	text := Columns(StatusText(&StatusResponse{Workers: []*Worker{
		{Name: "a", Memory: 4 << 30},
		{Name: "b", Memory: 4 << 30, Budget: &Budget{Limit: 64 << 20, Arrays: 30 << 20, Heap: 2 << 20, Spilled: 5 << 20}},
		{Name: "c", Memory: 4 << 30, Budget: &Budget{Limit: 64 << 20, Heap: 2 << 20}},
	}}), 0)
	for _, want := range []string{" 4.0 GiB   -                           -", " 64.0 MiB  32.0 MiB, 5.0 MiB in files  -", " 64.0 MiB  2.0 MiB                     -"} {
		if !strings.Contains(text, want) {
			t.Errorf("found\n%s\nexpected %q", text, want)
		}
	}
}

// TestQuotasOfStatus: the use of each owner's quota.
func TestQuotasOfStatus(t *testing.T) {
	text := Columns(StatusText(&StatusResponse{Quotas: []*QuotaUse{
		{Owner: "alice", Queued: 3, QueuedQuota: 5, Running: 1, ResultBytes: 2 << 20, ResultBytesQuota: 1 << 30, TimeQuotaSeconds: 7200}, {Owner: "bob", RunningQuota: 2},
	}}), 0)
	for _, want := range []string{
		"\nOWNER  WAIT    RUN     RESULTS             TIME OF A JOB\n",
		"\nalice  3 of 5  1       2.0 MiB of 1.0 GiB  2 h 00 min\n",
		"\nbob    0       0 of 2  0 B                 -\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("found\n%s\nexpected %q", text, want)
		}
	}
}

// TestTablesForgeNothing: names, paths and reasons from others are shown in their own row,
// shortened and escaped.
func TestTablesForgeNothing(t *testing.T) {
	evil := "\x1b[31mEVIL\u202e\nforged  done\tx" + strings.Repeat("y", 1<<20)
	spec := &job.Spec{Program: evil, Source: &job.Source{Input: evil}}
	jobs := []*Job{{Id: evil, SpecJson: job.Text(spec), Owner: evil, Reason: evil, Submitted: timestamppb.Now()}}
	graphs := []*Graph{{
		Name: evil, SourceJson: job.Text(spec.Source), Reason: evil,
		Progress:   &Progress{Stage: evil},
		Placements: []*Placement{{Worker: evil}},
	}}
	worker := &Worker{Name: evil, Site: evil, DataAddress: evil, Reason: evil, State: WorkerState_WORKER_STATE_REGISTERED}
	worker.Ways = []*Way{{Worker: evil}}
	status := &StatusResponse{
		Master: evil, Version: evil, Workers: []*Worker{worker}, Graphs: graphs, Jobs: jobs,
		Quotas: []*QuotaUse{{Owner: evil}}, Now: timestamppb.Now(),
	}
	for name, text := range map[string]string{
		"status": StatusText(status),
		"jobs":   JobsText(&ListJobsResponse{Jobs: jobs, Now: timestamppb.Now()}, true),
		"graphs": GraphsText(&ListGraphsResponse{Graphs: graphs}), "graph": GraphText(graphs[0]),
	} {
		text = Columns(text, 0)
		if strings.ContainsAny(text, "\x1b\u202e\t") || strings.Contains(text, "\nforged") ||
			len(text) > 64<<10 {
			t.Errorf("%s: found %d bytes: %.300q", name, len(text), text)
		}
		if !strings.Contains(text, `\x1b[31mEVIL\u202e\nforged  done\tx`) {
			t.Errorf("%s: found %.300q, expected the text with escapes", name, text)
		}
	}
}
