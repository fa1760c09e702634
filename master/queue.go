package master

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
)

// Queued jobs start in this order:
//
//  1. jobs that have begun before: they lost a worker, are being moved, or ran when the master
//     ended;
//  2. by priority, which increases by one for each agesAfter of waiting, so that other jobs cannot
//     keep a job waiting forever;
//  3. in the order of submission.
//
// The order depends only on the jobs' records, so the next master has the same order.

// agesAfter is the waiting time that increases a job's priority by one.
const agesAfter = 10 * time.Minute

// priority returns a queued job's current priority.
func (j *job) priority(now time.Duration) control.Priority {
	asked, _ := control.PriorityOf(j.spec.Priority)
	risen := max(now-j.submitted, 0) / agesAfter
	return control.Priority(min(time.Duration(asked)+risen,
		time.Duration(control.Priority_PRIORITY_HIGH)))
}

// inTurn returns the queue in its order.
func (c *cluster) inTurn(now time.Duration) []*job {
	all := c.waiting()
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(
			cmp.Compare(min(b.epoch, 1), min(a.epoch, 1)),
			cmp.Compare(b.priority(now), a.priority(now)),
			cmp.Compare(a.number, b.number),
		)
	})
	return all
}

// allowedPriority rejects the highest priority unless the caller is an operator, because otherwise
// everybody would use it.
func allowedPriority(caller control.Caller, asked string) error {
	if p, _ := control.PriorityOf(asked); p == control.Priority_PRIORITY_HIGH &&
		!caller.Roles.Has(certs.Operator) {
		return failed(connect.CodePermissionDenied,
			"priority high is for operators, and %s is none: low and normal are for all",
			caller.Name)
	}
	return nil
}

// schedule reloads graphs and starts queued jobs in their order, while there is room. It skips jobs
// whose graph is not ready, whose client has not confirmed them, or whose owner's quota is used up.
// It does not skip a job that has to run alone, because otherwise the job might never find the
// cluster idle.
func (c *cluster) schedule(now time.Duration) {
	if reason := c.settling(now); reason != "" {
		for _, j := range c.waiting() {
			if j.confirmBy == 0 {
				c.wait(j, reason)
			}
		}
		return
	}
	c.reload()
	c.startQueued(now)
	for _, j := range c.waiting() { // no worker is awaited; an earlier master may have said so
		if strings.HasSuffix(j.reason, toComeBack) {
			c.wait(j, "")
		}
	}
}

// startQueued is schedule after the workers known before a restart are back or given up.
func (c *cluster) startQueued(now time.Duration) {
	uses, running, alone := c.uses(), 0, false
	for _, j := range c.order {
		if j.active() {
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
			c.wait(j, "waits for the running jobs: it runs alone")
			return
		}
		c.start(now, j, at)
		running++
		uses[j.owner] = use{running: uses[j.owner].running + 1}
	}
}

// alone reports whether no other job may run beside it. Another job would disturb the measurements
// of a benchmark. If two jobs lost a worker together, it would not be clear which of them caused
// it.
func (j *job) alone() bool { return kindOf(j.spec).alone || len(j.losses) > 0 }

// A client may be gone before it receives the answer to its submission: it was interrupted, its
// context ended, or its machine was switched off. The master cannot detect this reliably, because
// it may read the request after the client has gone. So a client tells how long it will wait for
// the answer, and confirms the job when it has the answer. Until then the job waits, and other jobs
// may start before it.

// maxConfirm bounds how long a job waits for confirmation.
const maxConfirm = 24 * time.Hour

// confirm lets a job start, because its client has received the answer. It does not change a job
// that has ended.
func (c *cluster) confirm(now time.Duration, id string) (*job, error) {
	j, err := c.job(id)
	if err == nil && j.confirmBy != 0 && j.state == control.JobState_JOB_STATE_QUEUED {
		j.confirmBy, j.confirm, j.reason = 0, 0, ""
		c.changed = append(c.changed, change{job: j.id})
		c.schedule(now)
	}
	return j, err
}

// expireJobs cancels jobs that were not confirmed in time, and sets the reason of the others.
func (c *cluster) expireJobs(now time.Duration) {
	c.unconfirmed(func(j *job) {
		if now > j.confirmBy {
			c.end(now, j, control.JobState_JOB_STATE_CANCELLED,
				"its client was gone before it confirmed the job")
			return
		}
		c.wait(j, "waits for its client to confirm it")
	})
}

// unconfirmed calls do for each job that waits for confirmation.
func (c *cluster) unconfirmed(do func(*job)) {
	for _, j := range c.waiting() {
		if j.confirmBy != 0 {
			do(j)
		}
	}
}

// Quota bounds what an owner may use at a master (docs/design/security.md defines owners). Zero
// means no bound. It does not bound memory.
type Quota struct {
	// Queued bounds the waiting jobs. A further submission is rejected, but a restart is not.
	Queued int
	// Running bounds the jobs that run at the same time. Further jobs wait, and jobs of other
	// owners may start before them.
	Running int
	// Time bounds the time of a job for loading, running and writing, summed over its attempts. A
	// job that exceeds it fails. If a restarted master takes over an attempt, the time from the
	// last record of the job to the master's start does not count.
	Time time.Duration
	// ResultBytes bounds the stored results. The oldest are removed first. A job with a larger
	// result fails.
	ResultBytes int64
}

// quotas are by owner. The entry "" applies to owners without an entry.
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

// of returns the quota of an owner. Jobs without an owner are not bounded.
func (q quotas) of(owner string) Quota {
	if own, ok := q[owner]; ok && owner != "" {
		return own
	}
	if owner == "" {
		return Quota{}
	}
	return q[""]
}

// use is an owner's numbers of queued and running jobs.
type use struct{ queued, running int }

// uses returns the use of each owner.
func (c *cluster) uses() map[string]use {
	all := map[string]use{}
	for _, j := range c.order {
		switch u := all[j.owner]; {
		case j.active():
			all[j.owner] = use{u.queued, u.running + 1}
		case !j.state.Ended():
			all[j.owner] = use{u.queued + 1, u.running}
		}
	}
	return all
}

// mayQueue fails if an owner's quota of queued jobs is used up.
func (c *cluster) mayQueue(owner string) error {
	q, n := c.quotas.of(owner), c.uses()[owner].queued
	if q.Queued == 0 || n < q.Queued {
		return nil
	}
	return failed(connect.CodeResourceExhausted, "%s has %d of at most %d waiting jobs (--quota): "+
		"try again when one has begun, or cancel one", owner, n, q.Queued)
}

// mayRun reports whether the quota allows another running job of the owner. If not, it sets the
// job's reason.
func (c *cluster) mayRun(j *job, running int) bool {
	q := c.quotas.of(j.owner)
	if q.Running == 0 || running < q.Running {
		return true
	}
	c.wait(j, fmt.Sprintf("%s has %d of at most %d running jobs (--quota)", j.owner, running,
		q.Running))
	return false
}

// taken returns how long a job has run so far, for the quota of time.
func (j *job) taken(now time.Duration) time.Duration {
	if j.active() {
		return j.used + max(now-j.began, 0)
	}
	return j.used
}

// expireRuns stops the jobs that exceed the quota of time.
func (c *cluster) expireRuns(now time.Duration) {
	for _, j := range c.order {
		if q := c.quotas.of(j.owner); q.Time > 0 && j.active() && !j.stopping && !j.ending &&
			j.taken(now) > q.Time {
			c.stop(j, fmt.Sprintf("it took longer than a job of %s may: the quota is time=%v",
				j.owner, q.Time), false)
		}
	}
}

// quotaUses returns the quotas and use of all owners with unfinished jobs, results or an own quota.
// The caller holds the lock.
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
		if owner == "" { // the default quota, or jobs without owner
			continue
		}
		q, u := s.cluster.quotas.of(owner), jobs[owner]
		all = append(all, &control.QuotaUse{
			Owner: owner, QueuedQuota: uint32(q.Queued), RunningQuota: uint32(q.Running),
			TimeQuotaSeconds: q.Time.Seconds(), Queued: uint32(u.queued),
			Running: uint32(u.running), ResultBytesQuota: uint64(q.ResultBytes),
			ResultBytes: uint64(results[owner]),
		})
	}
	return all
}
