package master

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

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

func (q Quota) check(owner string) error {
	if min(q.Queued, q.Running) < 0 || min(int64(q.Time), q.ResultBytes) < 0 {
		return fmt.Errorf("master: a number of the quota of %q is negative: %+v", owner, q)
	}
	return nil
}

// quotas are by owner, and that of "" for owners who have none of their own.
type quotas map[string]Quota

func (q quotas) check() error {
	var all []error
	for _, owner := range slices.Sorted(maps.Keys(q)) {
		all = append(all, q[owner].check(owner))
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
	return connect.NewError(connect.CodeResourceExhausted,
		fmt.Errorf("%d of the jobs of %s %s already, and the quota is queued=%d: try again when one has begun, or cancel one", n, owner, wait, q.Queued))
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
	uses := map[string]*control.QuotaUse{}
	of := func(owner string) *control.QuotaUse {
		if uses[owner] == nil {
			q := s.cluster.quotas.of(owner)
			uses[owner] = &control.QuotaUse{
				Owner: owner, QueuedQuota: uint32(q.Queued), RunningQuota: uint32(q.Running),
				TimeQuotaSeconds: q.Time.Seconds(), ResultBytesQuota: uint64(q.ResultBytes),
			}
		}
		return uses[owner]
	}
	for owner := range s.cluster.quotas {
		of(owner)
	}
	jobs := s.cluster.uses()
	for owner := range jobs {
		of(owner)
	}
	for owner, n := range s.results.retention.byOwner() {
		of(owner).ResultBytes = uint64(n)
	}
	delete(uses, "") // the default, and what has no owner
	for _, owner := range slices.Sorted(maps.Keys(uses)) {
		u := uses[owner]
		u.Queued, u.Running = uint32(jobs[owner].queued), uint32(jobs[owner].running)
		all = append(all, u)
	}
	return all
}
