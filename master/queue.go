package master

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// Jobs that wait have their turn in this order:
//
//  1. those that have begun before: they lost a worker, are moved, or were under way when the master ended;
//  2. by their priority, which rises by one for each agesAfter that a job has waited, so that no stream of others keeps it waiting for ever;
//  3. as they were submitted.
//
// All of it follows from what is in the jobs' records, so that the next master has the same order.

// agesAfter is how long a job waits before it goes up one priority.
const agesAfter = 10 * time.Minute

// priority is by what a job waits now.
func (j *job) priority(now time.Duration) control.Priority {
	asked, _ := control.PriorityOf(j.spec.Priority)
	risen := max(now-j.submitted, 0) / agesAfter
	return control.Priority(min(time.Duration(asked)+risen,
		time.Duration(control.Priority_PRIORITY_HIGH)))
}

// inTurn is the queue, in its order.
func (c *cluster) inTurn(now time.Duration) []*job {
	all := make([]*job, len(c.queued))
	for i, id := range c.queued {
		all[i] = c.jobs[id]
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(
			cmp.Compare(min(b.epoch, 1), min(a.epoch, 1)),
			cmp.Compare(b.priority(now), a.priority(now)),
			cmp.Compare(a.number, b.number),
		)
	})
	return all
}

// allowedPriority refuses a priority that there is not, and the highest to all but operators: else
// it would soon be everybody's.
func allowedPriority(caller control.Caller, asked string) error {
	if p, _ := control.PriorityOf(asked); p == control.Priority_PRIORITY_HIGH &&
		!caller.Roles.Has(certs.Operator) {
		return connect.NewError(connect.CodePermissionDenied,
			fmt.Errorf("priority high is for operators, and %s is none: low and normal are for all",
				caller.Name))
	}
	return nil
}

// schedule loads what has to be loaded again, and starts waiting jobs in their turn, while there is
// room; one whose graph is not there yet, whose client has not confirmed it, or whose owner has as
// many running as may be, lets others pass. One that runs alone lets none pass: it would never find
// nothing running.
func (c *cluster) schedule(now time.Duration) {
	if reason := c.settling(now); reason != "" {
		for _, id := range c.queued {
			if c.jobs[id].confirmBy == 0 {
				c.wait(c.jobs[id], reason)
			}
		}
		return
	}
	c.reload()
	c.startQueued(now)
	c.settled()
}

// startQueued is schedule when all workers of before are back, or given up.
func (c *cluster) startQueued(now time.Duration) {
	uses, running, alone := c.uses(), 0, false
	for _, id := range c.order {
		if j := c.jobs[id]; j.active() {
			running, alone = running+1, alone || j.alone()
		}
	}
	for _, j := range c.inTurn(now) {
		if running >= c.running || alone {
			return
		}
		if j.confirmBy != 0 || !c.mayRun(j, uses[j.owner].running) {
			continue
		}
		at, ok := c.site(now, j)
		if !ok {
			continue
		}
		if alone = j.alone(); alone && running > 0 {
			c.wait(j, "waits for those that run: it runs alone")
			return
		}
		c.start(now, j, at)
		running++
		uses[j.owner] = use{running: uses[j.owner].running + 1}
	}
}

// alone reports whether no other job runs beside it: a benchmark would measure that as well, and of
// jobs that lose a worker together nobody could say whose doing it was.
func (j *job) alone() bool { return kindOf(j.spec).alone || len(j.losses) > 0 }

// A client may be gone before it hears that its job was taken: it was interrupted, its context
// ended, its machine was switched off. The master cannot see that reliably, for the request of such
// a client may be read after it has gone. So a client says how long it will try to hear the answer,
// and confirms the job when it has: until then the job waits, and lets others pass.

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

// expireJobs cancels the jobs whose clients have not confirmed them in time, and says why others
// wait.
func (c *cluster) expireJobs(now time.Duration) {
	c.unconfirmed(func(j *job) {
		if now > j.confirmBy {
			c.end(now, j, control.JobState_JOB_STATE_CANCELLED,
				"the client that submitted it was gone before it heard that the job was taken")
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
