package master

import (
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// A client may be gone before it hears that its job was taken: it was interrupted, its context ended, its machine was switched off.
// The master cannot see that reliably, for the request of such a client may be read after it has gone. So a client says how long it
// will try to hear the answer, and confirms the job when it has: until then the job waits, and lets others pass.

// maxConfirm bounds how long a job waits to be confirmed.
const maxConfirm = 24 * time.Hour

// confirm lets a job begin: its client has heard of it. One that has ended before stays so.
func (c *cluster) confirm(now time.Duration, id string) (*job, error) {
	j := c.jobs[id]
	if j == nil {
		return nil, noJob(id)
	}
	if j.confirmBy != 0 && j.state == control.JobState_JOB_STATE_QUEUED {
		j.confirmBy, j.confirm, j.reason = 0, 0, ""
		c.changed = append(c.changed, change{job: j.id})
		c.schedule(now)
	}
	return j, nil
}

// expireJobs cancels the jobs whose clients have not confirmed them in time, and says why others wait.
func (c *cluster) expireJobs(now time.Duration) {
	c.unconfirmed(func(j *job) {
		if now > j.confirmBy {
			c.end(now, j, control.JobState_JOB_STATE_CANCELLED, "the client that submitted it was gone before it heard that the job was taken")
			return
		}
		c.wait(j, "waits for its client to hear that it is taken")
	})
}

// unconfirmed does something with each job that waits for its client.
func (c *cluster) unconfirmed(do func(*job)) {
	for _, id := range slices.Clone(c.queued) {
		if j := c.jobs[id]; j.confirmBy != 0 {
			do(j)
		}
	}
}
