package jobtrace

import (
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/following"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// begun records a journal's calls, and all fields of a job that begins.
type begun struct{ transcript }

func (b begun) Record(e trace.Event) error {
	if j, ok := e.(*trace.Job); ok {
		return b.add("begin %s: %d vertices, %d arcs", j.Job, j.Vertices, j.Arcs)
	}
	return b.transcript.Record(e)
}

// TestLate: in a trace file of jobs, the line that begins a job contains its graph.
func TestLate(t *testing.T) {
	loading := changed(control.JobState_JOB_STATE_LOADING, &control.Job{Rows: 2, Columns: 1})
	record := recorded(t,
		&record.Superstep{Scheme: "none", Delivery: "none", Partitions: make([]record.Partition,
			1)})
	running := func(load float64) *control.JobEvent {
		return changed(control.JobState_JOB_STATE_RUNNING,
			&control.Job{LoadSeconds: load, Vertices: 9, Edges: 8, Arcs: 15})
	}
	for name, c := range map[string]struct {
		events []*control.JobEvent
		want   []string
	}{
		"done": {
			[]*control.JobEvent{
				loading, changed(control.JobState_JOB_STATE_RUNNING,
					&control.Job{LoadSeconds: .5, Vertices: 9, Edges: 8, Arcs: 15}), record,
				changed(control.JobState_JOB_STATE_DONE,
					&control.Job{RunSeconds: 2, Vertices: 9, Edges: 8, Arcs: 15}),
			},
			[]string{"begin j1: 9 vertices, 15 arcs", "stage loading 0.5", "j1 0/0 none none", "end j1 done after 0 in 2:"},
		},
		"failed": {
			[]*control.JobEvent{loading, changed(control.JobState_JOB_STATE_FAILED,
				&control.Job{Reason: "no such file"})},
			[]string{"begin j1: 0 vertices, 0 arcs", "end j1 failed after 0 in 0: no such file"},
		},
		// after a restart, the master reports again that the job runs
		"twice running, twice begun": {
			[]*control.JobEvent{
				loading, running(.5), record, running(.5), record,
				changed(control.JobState_JOB_STATE_QUEUED,
					&control.Job{Reason: "worker w was lost"}), loading, running(.25), record,
				changed(control.JobState_JOB_STATE_DONE,
					&control.Job{RunSeconds: 2, Vertices: 9, Edges: 8, Arcs: 15}),
			},
			[]string{
				"begin j1: 9 vertices, 15 arcs", "stage loading 0.5", "j1 0/0 none none",
				"j1 0/0 none none",
				"end j1 failed after 0 in 0: worker w was lost",
				"begin j1: 9 vertices, 15 arcs", "stage loading 0.25", "j1 0/0 none none",
				"end j1 done after 0 in 2:",
			},
		},
		"not heard of running": {
			[]*control.JobEvent{loading, record},
			[]string{"begin j1: 0 vertices, 0 arcs", "j1 0/0 none none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			teller := &Observer{New: func() trace.Journal { return trace.Tee{&following.Late{To: begun{transcript{&lines}}}} }}
			for _, e := range c.events {
				teller.Event("j1", e)
			}
			for i, l := range lines {
				l, _, _ = strings.Cut(l, " active")
				lines[i] = strings.TrimSpace(l)
			}
			if !slices.Equal(lines, c.want) {
				t.Errorf("found\n%s\nexpected\n%s", strings.Join(lines, "\n"),
					strings.Join(c.want, "\n"))
			}
		})
	}
}
