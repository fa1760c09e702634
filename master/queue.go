package master

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
		return failed(connect.CodePermissionDenied,
			"priority high is for operators, and %s is none: low and normal are for all",
			caller.Name)
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
		at, lack := c.site(now, j)
		if lack != nil && lack.wait {
			c.wait(j, lack.reason)
		} else if lack != nil {
			c.end(now, j, control.JobState_JOB_STATE_FAILED, lack.reason)
		}
		if lack != nil {
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
	j, err := c.job(id)
	if err == nil && j.confirmBy != 0 && j.state == control.JobState_JOB_STATE_QUEUED {
		j.confirmBy, j.confirm, j.reason = 0, 0, ""
		c.changed = append(c.changed, change{job: j.id})
		c.schedule(now)
	}
	return j, err
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

// Quota bounds what an owner has at a master (docs/design/security.md defines owners). Zero is no
// bound. Memory is not among them.
type Quota struct {
	// Queued is how many jobs may wait: one more is refused. A job that begins again is not.
	Queued int
	// Running is how many jobs may run at a time: others wait, and let those of other owners pass.
	Running int
	// Time is how long a job may take, loading, running and writing, in all its attempts together:
	// one that takes longer fails. Of an attempt that a master takes over from an earlier one, the
	// time counts that this one has seen.
	Time time.Duration
	// ResultBytes is how many bytes of results are kept: the oldest go first. A result that alone
	// has more fails its job.
	ResultBytes int64
}

// quotas are by owner, and that of "" for owners who have none of their own.
type quotas map[string]Quota

func (q quotas) check() error {
	var all []error
	for _, owner := range slices.Sorted(maps.Keys(q)) {
		if o := q[owner]; min(o.Queued, o.Running) < 0 || min(int64(o.Time), o.ResultBytes) < 0 {
			all = append(all,
				fmt.Errorf("master: a number of the quota of %q is negative: %+v", owner, o))
		}
	}
	return errors.Join(all...)
}

// of is the quota of an owner. What has no owner is everybody's, and is not bounded.
func (q quotas) of(owner string) Quota {
	if own, ok := q[owner]; ok && owner != "" {
		return own
	}
	if owner == "" {
		return Quota{}
	}
	return q[""]
}

// use is how many jobs of an owner wait, and how many run.
type use struct{ queued, running int }

// uses are by owner.
func (c *cluster) uses() map[string]use {
	all := map[string]use{}
	for _, id := range c.order {
		j := c.jobs[id]
		switch u := all[j.owner]; {
		case j.active():
			all[j.owner] = use{u.queued, u.running + 1}
		case !j.state.Ended():
			all[j.owner] = use{u.queued + 1, u.running}
		}
	}
	return all
}

// mayQueue refuses an owner's next job when as many wait as may.
func (c *cluster) mayQueue(owner string) error {
	q, n := c.quotas.of(owner), c.uses()[owner].queued
	if q.Queued == 0 || n < q.Queued {
		return nil
	}
	wait := "wait"
	if n == 1 {
		wait = "waits"
	}
	return failed(connect.CodeResourceExhausted,
		"%d of the jobs of %s %s already, and the quota is queued=%d: try again when one has begun, or cancel one", n, owner, wait, q.Queued)
}

// mayRun has a job wait when as many of its owner run as may, and reports whether it need not.
func (c *cluster) mayRun(j *job, running int) bool {
	q := c.quotas.of(j.owner)
	if q.Running == 0 || running < q.Running {
		return true
	}
	run := "run"
	if running == 1 {
		run = "runs"
	}
	c.wait(j, fmt.Sprintf("%d of the jobs of %s %s, and the quota is running=%d", running, j.owner,
		run, q.Running))
	return false
}

// taken is how long a job has taken so far, as its owner's quota counts it.
func (j *job) taken(now time.Duration) time.Duration {
	if j.active() {
		return j.used + max(now-j.began, 0)
	}
	return j.used
}

// expireRuns ends the jobs that have taken longer than their owners' quotas allow.
func (c *cluster) expireRuns(now time.Duration) {
	for _, id := range c.order {
		j := c.jobs[id]
		if q := c.quotas.of(j.owner); q.Time > 0 && j.active() && !j.stopping && !j.ending &&
			j.taken(now) > q.Time {
			c.stop(now, j, fmt.Sprintf("it took longer than a job of %s may: the quota is time=%v",
				j.owner, q.Time), false)
		}
	}
}

// quotaUses says how much owners have of what they may: those with jobs that have not ended or with
// results, and those with a quota of their own. The lock is held.
func (s *server) quotaUses() (all []*control.QuotaUse) {
	if len(s.cluster.quotas) == 0 {
		return nil
	}
	jobs := s.cluster.uses()
	_, _, results := s.withResults()
	owners := slices.AppendSeq(slices.Collect(maps.Keys(jobs)), maps.Keys(results))
	owners = slices.AppendSeq(owners, maps.Keys(s.cluster.quotas))
	slices.Sort(owners)
	for _, owner := range slices.Compact(owners) {
		if owner == "" { // the default, and what has no owner
			continue
		}
		q, u := s.cluster.quotas.of(owner), jobs[owner]
		all = append(all, &control.QuotaUse{
			Owner: owner, QueuedQuota: uint32(q.Queued), RunningQuota: uint32(q.Running),
			TimeQuotaSeconds: q.Time.Seconds(), Queued: uint32(u.queued),
			Running: uint32(u.running), ResultBytesQuota: uint64(q.ResultBytes), ResultBytes: uint64(results[owner]),
		})
	}
	return all
}
