// Package jobtrace converts a master's job events to events of a trace.Journal, so that jobs of a
// cluster are recorded like runs in one process.
package jobtrace

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
)

// Observer forwards the events of all of a master's jobs to journals. It ignores errors of
// journals: a failed record does not fail the job.
type Observer struct {
	// New makes the journal of a job.
	New func() trace.Journal
	// Queued, if not nil, is called for jobs that wait, with the reason.
	Queued func(j *trace.Job, reason string)
	// Defaults, if not nil, returns the defaults of a program's parameters that are not given.
	Defaults func(program string, given map[string]string) map[string]string
	// Report, if not nil, returns the text of the report of a job of Graph500, or "".
	Report func(j *control.Job) string

	mu   sync.Mutex
	jobs map[string]*job
}

// job is a job that has not ended.
type job struct {
	*Observer
	to    trace.Journal
	state control.JobState
	stage string // the running stage of Graph500
	since time.Time
	// searches says that it is of Graph500, whose records name their searches.
	searches bool
	unread   sync.Once // logs once that a record could not be decoded
}

// Event takes an event of a job. It does not wait, and several goroutines may call it.
func (t *Observer) Event(id string, e *control.JobEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[id]
	if j == nil && e.GetJob() == nil {
		return
	}
	switch body := e.Body.(type) {
	case *control.JobEvent_Job:
		if j == nil {
			if t.jobs == nil {
				t.jobs = map[string]*job{}
			}
			j = &job{Observer: t, to: t.New()}
			t.jobs[id] = j
		}
		// the job begins again
		if body.Job.State == control.JobState_JOB_STATE_QUEUED &&
			j.state > control.JobState_JOB_STATE_QUEUED {
			j.enter(body.Job.Id, "")
			e := j.end(body.Job)
			e.State, e.Again = trace.Failed, true
			_ = j.to.Record(e)
			*j = job{Observer: t, to: t.New()}
		}
		if body.Job.State == control.JobState_JOB_STATE_QUEUED && t.Queued != nil {
			t.Queued(t.begin(body.Job), control.Text(body.Job.Reason, control.MaxName))
		}
		j.update(body.Job)
		if body.Job.State.Ended() {
			delete(t.jobs, id)
		}
	case *control.JobEvent_Record:
		j.superstep(id, body.Record)
	case *control.JobEvent_Log:
		_ = j.to.Record(&trace.Log{Time: body.Log.Time.AsTime(), Level: "info", Text: body.Log.Text, Job: id, Worker: body.Log.Worker})
	case *control.JobEvent_Stage:
		j.enter(id, body.Stage.Stage)
		_ = j.to.Record(&trace.Stage{Job: id, Stage: j.stage, Done: int64(body.Stage.Done), Total: int64(body.Stage.Total)})
		if body.Stage.Search == nil {
			break
		}
		if s := body.Stage.Search.Trace(); s.Check() == nil { // a worker may send anything
			_ = j.to.Record(s)
		}
	case *control.JobEvent_Checkpoint:
		_ = j.to.Record(&trace.Stage{
			Job: id, Stage: trace.Checkpoint, Part: fmt.Sprint("superstep ", body.Checkpoint.Superstep),
			Seconds: max(body.Checkpoint.Seconds, 1e-9),
		})
	case *control.JobEvent_Progress:
		p := body.Progress
		switch j.state {
		case control.JobState_JOB_STATE_LOADING:
			_ = j.to.Record(&trace.Stage{Job: id, Stage: cmp.Or(j.stage, loading), Part: p.Stage, Done: int64(p.Done), Total: int64(p.Total)})
		case control.JobState_JOB_STATE_WRITING:
			_ = j.to.Record(
				&trace.Stage{Job: id, Stage: writing, Done: int64(p.Done), Total: int64(p.Total)})
		}
	}
}

// The stages of ordinary jobs. Writing is counted in vertices.
const (
	loading = "loading"
	writing = "writing"
)

// enter ends the current stage of Graph500, and begins stage unless it is empty.
func (j *job) enter(id, stage string) {
	if stage == j.stage {
		return
	}
	now := time.Now()
	if j.stage != "" {
		_ = j.to.Record(&trace.Stage{Job: id, Stage: j.stage, Seconds: max(now.Sub(j.since), time.Nanosecond).Seconds()})
	}
	j.stage, j.since = stage, now
}

// update handles a job's new state.
func (j *job) update(now *control.Job) {
	was := j.state
	j.state, j.searches = now.State, now.Spec().Graph500 != nil
	if was < control.JobState_JOB_STATE_LOADING && now.State >= control.JobState_JOB_STATE_LOADING {
		_ = j.to.Record(j.begin(now))
	}
	if now.State == control.JobState_JOB_STATE_RUNNING { // its graph is known now
		more := j.begin(now)
		more.More = true
		_ = j.to.Record(more)
	}
	if was == control.JobState_JOB_STATE_LOADING && now.LoadSeconds > 0 && !j.searches {
		_ = j.to.Record(&trace.Stage{Job: now.Id, Stage: loading, Seconds: now.LoadSeconds})
	}
	switch {
	case now.State == control.JobState_JOB_STATE_WRITING && was < now.State:
		_ = j.to.Record(&trace.Stage{Job: now.Id, Stage: writing})
	case was == control.JobState_JOB_STATE_WRITING && now.WriteSeconds > 0:
		_ = j.to.Record(&trace.Stage{Job: now.Id, Stage: writing, Seconds: now.WriteSeconds})
	}
	if now.State.Ended() {
		j.enter(now.Id, "")
		_ = j.to.Record(j.end(now))
	}
}

// maxParameter bounds what is told of a parameter: there are many jobs, and the master has the
// whole.
const maxParameter = 1 << 10

func (t *Observer) begin(now *control.Job) *trace.Job {
	spec := now.Spec()
	for name, value := range spec.Parameters {
		spec.Parameters[name] = control.Text(value, maxParameter)
	}
	b := &trace.Job{
		Job: now.Id, Program: spec.Program, Parameters: spec.Parameters, Graph: spec.Origin(),
		Vertices: now.Vertices, Arcs: now.Arcs, Threads: int(now.Threads),
		Partitions: int(now.Rows * now.Columns),
		Delivery:   spec.Delivery, MaxSupersteps: int(now.MaxSupersteps),
		// a job that was cancelled while it waited has not started
		Began: cmp.Or(timeOf(now.Started), timeOf(now.Submitted), time.Now()),
	}
	g := now.Graph500 // of a worker, which may send anything
	if most := 1e9; g.GetGeneration() >= 0 && g.GetGeneration() < most && g.GetConstruction() > 0 &&
		g.GetConstruction() < most {
		b.Generation, b.Construction = g.Generation, g.Construction
	}
	if t.Defaults != nil {
		b.Defaults = t.Defaults(spec.Program, spec.Parameters)
	}
	if control.Named(now.Owner) {
		b.Owner = now.Owner
	}
	if p := spec.Priority; p != control.Priority_PRIORITY_NORMAL.Word() {
		b.Priority = p
	}
	if now.Rows > 0 {
		b.Grid = fmt.Sprintf("%dx%d", now.Rows, now.Columns)
	}
	if len(now.Before) > 0 {
		b.Before = now.Before
		_, b.Began = history.Before(now.Before)
	}
	return b
}

func (j *job) end(now *control.Job) *trace.End {
	e := &trace.End{
		Job: now.Id, Error: control.Text(now.Reason, control.MaxName),
		Supersteps: int(now.Supersteps), Seconds: now.RunSeconds,
		Forked: now.Forked, Submitted: timeOf(now.Submitted), Finished: timeOf(now.Ended),
		Messages: int(now.Messages), Sent: int(now.MessagesSent), Bytes: int(now.BytesSent),
	}
	switch {
	case now.State == control.JobState_JOB_STATE_CANCELLED:
		e.State = trace.Cancelled
	case now.State == control.JobState_JOB_STATE_FAILED:
		e.State = trace.Failed
	default:
		e.State, e.Ended = trace.Done, trace.Ended(now.EndedBy)
		e.Aggregators, e.GraphLeft = now.FinalAggregates(), now.GraphLeft.Trace()
	}
	if j.Report != nil {
		e.Report = j.Report(now)
	}
	return e
}

// timeOf returns the zero time for a timestamp that is missing.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// superstep forwards a superstep.
func (j *job) superstep(id string, data []byte) {
	s, err := control.DecodeRecord(data)
	if err != nil { // from a master of another version
		j.unread.Do(func() {
			_ = j.to.Record(&trace.Log{Time: time.Now(), Level: "warn", Job: id, Text: "supersteps are missing here: " + err.Error()})
		})
		return
	}
	if s.Job == "" || !j.searches { // a worker may name any
		s.Job = id
	}
	_ = j.to.Record(s)
}
