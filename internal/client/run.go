package client

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// endTime bounds the wait for a job that was told to end.
const endTime = 30 * time.Second

// Run submits a job, passes on what happens to it, and returns how it has ended. When ctx ends the
// job is cancelled, and waited for, for a while; then Run returns ctx's cause.
func (c *Client) Run(ctx context.Context, spec *job.Spec, each func(*control.JobEvent) error) (*control.Job, error) {
	submitting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(callTimeout, func() { cancel(context.Cause(ctx)) })
	})()
	id, at := "", &Place{}
	job, err := c.Start(ctx, submitting, spec, func(taken string) { id = taken }, at, each)
	if err == nil || id == "" {
		return job, err
	}
	if _, failed := c.End(context.WithoutCancel(ctx), id, "the client that submitted it wants no more of it", at, each); failed != nil {
		return nil, fmt.Errorf("%w (%w)", err, failed)
	}
	return nil, err
}

// Start is Run that leaves a job alone when ctx ends. The master may have taken a job though nobody
// waits for the answer any more: it is waited for until submitting ends. Taken is called when the
// job is known; it does not begin if ctx has ended by then. Without each it is left alone once it
// may begin.
func (c *Client) Start(ctx, submitting context.Context, spec *job.Spec, taken func(id string), at *Place, each func(*control.JobEvent) error) (*control.Job, error) {
	job, err := c.Submit(submitting, spec)
	if err != nil {
		return nil, err
	}
	taken(job.Id)
	if _, err = c.Confirm(ctx, job.Id); err != nil || each == nil {
		return nil, err
	}
	ended, err := c.Wait(ctx, job.Id, at, each)
	if at.Missed > 0 {
		c.Log(fmt.Sprintf("the master no longer had %d events of job %s", at.Missed, job.Id))
	}
	return ended, err
}

// End cancels a job, passes on what happens after a place, and waits for its end, for a
// while or until ctx ends. What each returns changes nothing.
func (c *Client) End(ctx context.Context, id, reason string, at *Place, each func(*control.JobEvent) error) (*control.Job, error) {
	if _, err := c.Cancel(context.WithoutCancel(ctx), id, reason); err != nil {
		return nil, fmt.Errorf("job %s may go on: %w", id, err)
	}
	ctx, done := context.WithTimeoutCause(ctx, endTime, fmt.Errorf("waited %v for it", endTime))
	defer done()
	job, err := c.Wait(ctx, id, at, func(e *control.JobEvent) error {
		_ = each(e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("job %s was told to end, and has not yet: %w", id, err)
	}
	return job, nil
}

// Place is how far a client has heard of a job. The zero value is the beginning.
type Place struct {
	Missed uint64 // how many events the master no longer had
	last   uint64 // number of the last event
	told   control.Told
}

// pass notes an event, and reports whether it is new. The number of progress is the last event's.
func (p *Place) pass(e *control.JobEvent) bool {
	if e.Sequence>>32 != p.last>>32 { // the master was started anew
		p.last = e.Sequence >> 32 << 32
	}
	if e.Sequence > p.last { // lines that earlier masters have kept may share a number
		p.Missed += e.Sequence - p.last - 1
	}
	if p.last = e.Sequence; p.told == nil {
		p.told = control.Told{}
	}
	return !p.told.Again(e)
}

// Wait passes on what happens to a job after a place, which it moves on, until the job has ended,
// and returns how. A job whose end a master could not keep, before another one took its place, goes
// on under that.
func (c *Client) Wait(ctx context.Context, id string, at *Place, each func(*control.JobEvent) error) (*control.Job, error) {
	for {
		before := at.last
		if err := c.follow(ctx, id, false, at, each); err != nil {
			return nil, err
		}
		job, err := c.Job(ctx, id) // the stack of a program that failed is in no event
		switch {
		case err != nil:
			return nil, err
		case job.State.Ended():
			return job, nil
		case at.last == before:
			return nil, fmt.Errorf("job %s is %s, and the master says nothing more of it", id, job.State.Word())
		}
	}
}
