package master

import (
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// cancel ends a job because someone wants it. One that has ended stays as it is.
func (c *cluster) cancel(now time.Duration, id, reason string) (*job, error) {
	j := c.jobs[id]
	if j == nil {
		return nil, noJob(id)
	}
	switch {
	case j.state == control.JobState_JOB_STATE_QUEUED:
		c.end(now, j, control.JobState_JOB_STATE_CANCELLED, reason)
	case j.active() && j.lost: // it would begin again
		j.cancelled, j.lost, j.reason = true, false, reason
		c.changed = append(c.changed, change{job: j.id})
	case j.active():
		c.stop(now, j, reason, true)
	}
	return j, nil
}

func noJob(id string) error {
	return absent("there is no job %.150q: superstep jobs --all lists those the master remembers", id)
}

// stop tells a run to end. The first reason counts: the cause, not what it led to.
func (c *cluster) stop(_ time.Duration, j *job, reason string, cancelled bool) {
	if j.stopping {
		return
	}
	leaves := cancelled && j.movable() && j.spec.KeepWhen != nil // its user asked for checkpoints
	j.stopping, j.cancelled, j.reason = true, cancelled, reason
	if cancelled {
		c.changed = append(c.changed, change{job: j.id})
	}
	c.emit(stopJob{j.id, reason, leaves})
}
