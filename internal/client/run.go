package client

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// endTime bounds the wait for a cancelled job.
const endTime = 30 * time.Second

// Run submits a job, passes its events to each, and returns the ended job. When ctx ends, Run
// cancels the job, waits for its end for a limited time, and returns the cause of ctx.
func (c *Client) Run(ctx context.Context, spec *job.Spec, each Each) (*control.Job, error) {
	submitting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(callTimeout, func() { cancel(context.Cause(ctx)) })
	})()
	id, at := "", &Place{}
	job, err := c.Start(ctx, submitting, spec, func(taken string) bool {
		id = taken
		return ctx.Err() == nil
	}, at, each)
	if err == nil || id == "" {
		return job, err
	}
	_, failed := c.End(context.WithoutCancel(ctx), id, "its client has ended the call", at, each)
	if failed != nil {
		return nil, fmt.Errorf("%w (%w)", err, failed)
	}
	return nil, err
}

// Start is Run, but does not cancel the job when ctx ends. Until submitting ends, it waits for the
// answer to the submission, because the master may have accepted the job. It then calls taken, which
// returns false if ctx has ended and the job should not begin. If ctx ends later, the job begins. If
// each is nil, Start returns when the job may begin.
func (c *Client) Start(
	ctx, submitting context.Context, spec *job.Spec, taken func(id string) bool, at *Place,
	each Each,
) (*control.Job, error) {
	job, err := c.Submit(submitting, spec)
	if err != nil {
		return nil, err
	}
	id := job.Id // Wait returns no job with an error
	if !taken(id) {
		return nil, context.Cause(ctx)
	}
	if _, err = c.Confirm(submitting, id); err != nil || each == nil {
		return nil, err
	}
	job, err = c.Wait(ctx, id, at, each)
	if at.Missed > 0 {
		c.Log(fmt.Sprintf("the master no longer had %d events of job %s", at.Missed, id))
	}
	return job, err
}

// End cancels a job, passes its further events to each, and waits for its end until endTime or ctx
// ends. It ignores errors of each.
func (c *Client) End(
	ctx context.Context, id, reason string, at *Place, each Each,
) (*control.Job, error) {
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
		return nil, fmt.Errorf("job %s was cancelled, but has not ended: %w", id, err)
	}
	return job, nil
}

// Place is a position in the events of a job. The zero value is the beginning.
type Place struct {
	Missed uint64 // number of events that the master had discarded
	last   uint64 // sequence number of the last event
	told   control.Told
}

// pass notes an event, and reports whether it is new. A progress event has the number of the event
// before it.
func (p *Place) pass(e *control.JobEvent) bool {
	if e.Sequence>>32 != p.last>>32 { // the master was restarted
		p.last = e.Sequence >> 32 << 32
	}
	if e.Sequence > p.last { // lines stored by earlier masters may share a number
		p.Missed += e.Sequence - p.last - 1
	}
	if p.last = e.Sequence; p.told == nil {
		p.told = control.Told{}
	}
	return !p.told.Again(e)
}

// Wait passes the events of a job after a place to each, and advances the place, until the job has
// ended. It returns the job. If a master could not store the end of a job before another master
// took over, the job continues under that one.
func (c *Client) Wait(ctx context.Context, id string, at *Place, each Each) (*control.Job, error) {
	for {
		before := at.last
		if err := c.follow(ctx, id, false, at, each); err != nil {
			return nil, err
		}
		job, err := c.Job(ctx, id) // events do not contain the stack of a failed program
		switch {
		case err != nil:
			return nil, err
		case job.State.Ended():
			return job, nil
		case at.last == before:
			return nil, fmt.Errorf("job %s is %s, but the master sends no more events", id,
				job.State.Word())
		}
	}
}
