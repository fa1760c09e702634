package master

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// again requeues a job whose run ended because a worker was lost, before jobs that have not begun,
// and reports whether it did. The next attempt starts from the newest checkpoint, or else from the
// beginning, on the workers registered then. Kinds of jobs without retries, such as network
// measurements, are not requeued. Neither is a job that has lost too many workers, because its own
// program may be the cause: for example, a Compute that ends the process.
func (c *cluster) again(now time.Duration, j *job, err error) bool {
	reason := j.reason
	if !j.stopping && lossOf(err) {
		j.lost, reason = true, reasonOf(err)
	}
	if !j.stopping && goesOn(err) {
		c.requeue(now, j, reasonOf(err))
		return true
	}
	if !j.lost || !kindOf(j.spec).again {
		return false
	}
	if w := j.starved; w != nil && !c.roomier(w, j.placements) {
		j.stopping, j.reason = true, starved(w)
		return false
	}
	far := reached(j.state, j.figures.Supersteps)
	if j.spec.Graph500 != nil {
		far = "" // Graph500 reports progress in searches, not in supersteps.
	}
	j.losses = append(j.losses, reason+far)
	if len(j.losses) > c.retries {
		if n := len(j.losses); n > 1 {
			reason = control.Text(fmt.Sprintf("%d attempts: %s", n, strings.Join(j.losses, "; ")),
				control.MaxText)
		}
		j.stopping, j.reason = true, reason
		return false
	}
	c.requeue(now, j, fmt.Sprintf("%s; the job begins again, attempt %d of %d",
		j.losses[len(j.losses)-1], len(j.losses)+1, c.retries+1))
	return true
}

// requeue puts a job back into the queue for its next attempt, before jobs that have not begun.
func (c *cluster) requeue(now time.Duration, j *job, reason string) {
	j.used = j.taken(now)
	if j.lost {
		j.team = j.placements
	}
	j.state, j.reason, j.placements = control.JobState_JOB_STATE_QUEUED, reason, nil
	j.stopping, j.lost, j.driving = false, false, false
	c.changed = append(c.changed, change{job: j.id})
	c.turned(j)
}

// goesOn reports whether a job gets another attempt after an error that does not count as a loss.
func goesOn(err error) bool {
	return errors.Is(err, errNotTakenUp) || errors.As(err, new(*movedError))
}

// reached describes how far an attempt got.
func reached(state control.JobState, supersteps uint32) string {
	switch state {
	case control.JobState_JOB_STATE_LOADING:
		return ", while it was loading, or in superstep 0"
	case control.JobState_JOB_STATE_WRITING:
		return ", while it was writing"
	}
	if supersteps == 1 {
		return ", after 1 superstep"
	}
	return fmt.Sprintf(", after %d supersteps", supersteps)
}

// lossOf reports whether an error means that a worker was lost, that two workers cannot connect, or
// that a worker could not read the checkpoint to resume from. In the last case the next attempt
// looks for a checkpoint again.
func lossOf(err error) bool {
	var failed *workerError
	return errors.Is(err, errSessionBroke) || errors.As(err, &failed) &&
		(failed.failure.Lost != "" || failed.failure.Absent || failed.failure.Unmet ||
			failed.failure.Unread)
}

// cancel ends a job on request. A job that has ended stays as it is.
func (c *cluster) cancel(now time.Duration, id, reason string) (*job, error) {
	j, err := c.job(id)
	switch {
	case err != nil:
	case j.state == control.JobState_JOB_STATE_QUEUED:
		c.end(now, j, control.JobState_JOB_STATE_CANCELLED, reason)
	case j.active() && j.lost: // otherwise it would be requeued
		j.cancelled, j.lost, j.reason = true, false, reason
		c.changed = append(c.changed, change{job: j.id})
	case j.active():
		c.stop(j, reason, true)
	}
	return j, err
}

// job finds a job.
func (c *cluster) job(id string) (*job, error) {
	if j := c.jobs[id]; j != nil {
		return j, nil
	}
	return nil, noJob(id)
}

func noJob(id string) error {
	return absent(
		"there is no job %.150q: superstep jobs --all lists those the master remembers", id)
}

// stop ends a run. Only the first reason is stored, because later ones are consequences.
func (c *cluster) stop(j *job, reason string, cancelled bool) {
	if j.stopping {
		return
	}
	leaves := cancelled && j.movable() && j.spec.KeepWhen != nil // the user asked for checkpoints
	j.stopping, j.cancelled, j.reason = true, cancelled, reason
	if cancelled {
		c.changed = append(c.changed, change{job: j.id})
	}
	c.emit(stopJob{j.id, reason, leaves})
}
