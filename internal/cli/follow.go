package cli

import (
	"context"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/jobtrace"
)

// followed is a job of a cluster as it is watched: its figures, and what is shown and recorded of it.
type followed struct {
	client  *client.Client
	display *progress
	id      string
	whole   bool               // every superstep counts
	limit   int64              // of supersteps, 0 if there is none; as the job has it
	tell    *jobtrace.Observer // what records it
	missed  uint64             // events that the master no longer had

	mu    sync.Mutex
	times []float64 // of supersteps
}

// watch watches the job until it has ended, and returns how.
func (f *followed) watch(ctx context.Context) (*control.Job, error) {
	job, missed, err := f.client.Wait(ctx, f.id, f.event)
	if f.missed = missed; missed > 0 && f.whole && err == nil {
		f.display.warn(fmt.Sprintf("the master no longer had %s of job %s", things(missed, "event", "events"), f.id))
	}
	return job, err
}

func (f *followed) event(e *control.JobEvent) error {
	if p := e.GetProgress(); p != nil {
		f.display.stage(p.Stage, int64(p.Done), int64(p.Total))
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell.Event(f.id, e)
	switch body := e.Body.(type) {
	case *control.JobEvent_Job:
		f.show(body.Job)
	case *control.JobEvent_Log:
		f.display.log(body.Log.Text)
	case *control.JobEvent_Stage:
		f.display.stage(body.Stage.Stage, int64(body.Stage.Done), int64(body.Stage.Total))
		if body.Stage.Note != "" {
			f.display.note(body.Stage.Note)
		}
	case *control.JobEvent_Record:
		r := body.Record
		if r.Search != "" {
			break // its search is what is shown
		}
		at := bsp.Progress{Superstep: int(r.Superstep), Scheme: delivery.ParseScheme(r.Scheme), Seconds: r.Seconds}
		for _, p := range r.Partitions {
			at.Active += int(p.Active)
			at.Senders += int(p.Senders)
		}
		f.times = append(f.times, r.Seconds)
		f.display.superstep(at, f.limit)
	}
	return nil
}

// show says what the job is doing.
func (f *followed) show(j *control.Job) {
	f.limit = int64(j.Spec.GetOptions().GetMaxSupersteps())
	switch j.State {
	case control.JobState_JOB_STATE_QUEUED:
		f.display.stage("job "+f.id+" waits", 0, 0)
		f.display.note(j.Reason)
	case control.JobState_JOB_STATE_LOADING:
		if j.Spec.GetNetbench() != nil { // it loads nothing
			f.display.stage("connecting the workers", 0, 0)
			return
		}
		f.display.stage("loading "+graphOf(j.Spec), 0, 0)
	case control.JobState_JOB_STATE_RUNNING:
		f.display.stage("running "+j.Spec.GetProgram(), 0, 0)
	case control.JobState_JOB_STATE_WRITING:
		f.display.stage("gathering the result", 0, 0)
	}
}

// graphOf names the graph of a job as --graph does.
func graphOf(spec *control.JobSpec) string {
	if name := spec.GetGraph(); name != "" {
		return catalogPrefix + name
	}
	return spec.Origin()
}

// superstepTimes are those of the supersteps that count: the last may be one in which no vertex ran.
func (f *followed) superstepTimes(supersteps uint32) []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.times[:min(len(f.times), int(supersteps))]
}

// jobError is a job that ended otherwise than done.
type jobError struct {
	job   *control.Job
	stack bool // is to be shown
}

func (e *jobError) Error() string {
	text := fmt.Sprintf("job %s %s: %s", e.job.Id, map[bool]string{true: "was cancelled", false: "failed"}[e.cancelled()], e.job.Reason)
	if e.job.Stack != "" && !e.stack {
		text += fmt.Sprintf(" (superstep watch %s --stack shows the program's stack)", e.job.Id)
	}
	return text
}

func (e *jobError) cancelled() bool { return e.job.State == control.JobState_JOB_STATE_CANCELLED }

// outcome is the error of a job that did not end well.
func outcome(j *control.Job, stack bool) error {
	if j.State == control.JobState_JOB_STATE_DONE {
		return nil
	}
	return &jobError{j, stack}
}
