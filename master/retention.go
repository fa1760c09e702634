package master

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// Default bounds of the age and total size of stored results.
const (
	keepResults     = 7 * 24 * time.Hour
	keepResultBytes = 10e9
)

// maxResults bounds the number of stored results.
const maxResults = maxEnded

// retention decides which results stay stored. If results are too old, too large together, or too
// many, the oldest are removed first. If an owner's results exceed the owner's quota, this owner's
// oldest are removed. Results that a client is reading, and the newest result of this master, stay.
type retention struct {
	age   time.Duration
	bytes int64
	quota quotas
	log   *slog.Logger

	keptTable
	newest string // of this master
}

// retain finds the results of earlier masters and removes those that need not stay. If masters
// share a place, it removes local results that are not known to be complete, because the place has
// them.
func (r *results) retain(o *Config, log *slog.Logger, now time.Time) error {
	t := &r.retention
	r.now = o.Now
	t.age, t.bytes, t.quota, t.log = o.KeepResults, o.KeepResultBytes, maps.Clone(o.Quotas), log
	jobs, err := namesIn(r.root, ".", jobName)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	for _, id := range jobs {
		f, _ := r.local.result(context.Background(), id) // an unreadable result has size 0
		k, err := r.inspect(context.Background(), id, f)
		if err != nil {
			k.damage = err
		}
		if r.shared != nil && k.job == nil {
			if err := r.root.RemoveAll(k.id); err != nil {
				return fmt.Errorf("results: %w", err)
			}
			continue
		}
		t.all[k.id] = k
	}
	gone := t.expire(now)
	if len(t.all) > 0 {
		t.log.Info("results of earlier masters", "results", len(t.all), "bytes", t.total())
	}
	r.erase(gone)
	return nil
}

// inspect returns the entry of a result, mostly of an earlier master.
func (r *results) inspect(ctx context.Context, id string, f *found) (*stored, error) {
	k := f.stored(id, r.now())
	o, ok := f.objects[manifestName]
	if !ok {
		return k, nil
	}
	var data []byte
	err := store.ErrDamaged
	if o.Size <= maxManifest {
		data, err = store.Fetch(ctx, f.Store, o, maxManifest)
		if err != nil {
			return k, err
		}
		err = store.Unseal(data)
	}
	job := &control.Job{}
	if err == nil && ((protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data,
		job) != nil || job.Id != k.id || job.Spec().Program == "" ||
		job.State != control.JobState_JOB_STATE_DONE || job.Ended.CheckValid() != nil) {
		err = store.ErrDamaged
	}
	if err != nil {
		k.damage = fmt.Errorf("%s/%s%s: %w", f.called, f.dir, manifestName, err)
		r.retention.log.Warn("a description of a result is damaged", "job", k.id, "error", k.damage)
		return k, nil
	}
	k.job, k.at = job, job.Ended.AsTime()
	return k, nil
}

// store adds a complete result, and removes results that exceed the bounds.
func (r *results) store(job *control.Job, now time.Time) {
	t := &r.retention
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[job.Id] = &stored{id: job.Id, job: job, bytes: int64(job.ResultBytes), at: job.Ended.AsTime()}
	t.newest = job.Id
	r.then(job.Id, func() {
		if err := r.describe(job); err != nil {
			t.log.Warn("no later master will know whose this result is", "job", job.Id, "error",
				err)
		}
	})
	r.erase(t.expire(now))
}

// describe writes the manifest atomically. It writes none in the shared place if parts are missing
// there.
func (r *results) describe(job *control.Job) error {
	if r.temporary && r.shared == nil {
		return nil
	}
	data, err := protojson.Marshal(job)
	if err != nil {
		return err
	}
	data = store.Seal(data)
	put := func(s store.Store, dir string) error {
		return s.Put(context.Background(), dir+manifestName, bytes.NewReader(data),
			int64(len(data)))
	}
	err = put(r.local, job.Id+"/")
	if r.shared != nil {
		f, failed := r.shared.result(context.Background(), job.Id)
		if f.dir == r.sharedDir(job.Id) && len(f.objects) >= len(job.ResultParts) {
			failed = put(r.shared, f.dir)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// erase deletes the files of removed results in the background.
func (r *results) erase(gone []*stored) {
	for _, k := range gone {
		r.then(k.id, func() {
			if err := errors.Join(r.root.RemoveAll(k.id),
				r.unshare(context.Background(), sharedResults+k.id+"/")); err != nil {
				r.retention.log.Warn("a result cannot be removed", "job", k.id, "error", err)
			}
		})
	}
}

// expire removes the entries that exceed the bounds and returns them. The caller holds the lock.
func (t *retention) expire(now time.Time) []*stored {
	byAge := slices.SortedFunc(maps.Values(t.all), older)
	var gone []*stored
	total, owned := t.total(), t.owned()
	for _, k := range byAge {
		why := ""
		switch {
		case k.readers > 0 || k.id == t.newest:
		case now.Sub(k.at) > t.age:
			why = fmt.Sprintf("results are kept for %v", t.age)
		case t.over(k.job.GetOwner(), owned):
			why = fmt.Sprintf("results of %d bytes are kept of %s, by quota",
				t.quota.of(k.job.GetOwner()).ResultBytes, k.job.GetOwner())
		case total > t.bytes:
			why = fmt.Sprintf("results of %d bytes are kept", t.bytes)
		case len(t.all) > maxResults:
			why = fmt.Sprintf("%d results are kept", maxResults)
		}
		if why == "" {
			continue
		}
		t.log.Info("result removed", "job", k.id, "bytes", k.bytes, "ended", k.at, "reason", why)
		delete(t.all, k.id)
		total -= k.bytes
		owned[k.job.GetOwner()] -= k.bytes
		gone = append(gone, k)
	}
	return gone
}

func older(a, b *stored) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) }

// owned returns the bytes stored for each owner. The caller holds the lock.
func (t *retention) owned() map[string]int64 {
	n := map[string]int64{}
	for _, k := range t.all {
		n[k.job.GetOwner()] += k.bytes
	}
	return n
}

// byOwner returns the bytes stored for each owner.
func (t *retention) byOwner() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owned()
}

// over reports whether an owner's results exceed its quota.
func (t *retention) over(owner string, owned map[string]int64) bool {
	q := t.quota.of(owner).ResultBytes
	return q > 0 && owned[owner] > q
}

// removed is the error for a result that is no longer stored.
func (t *retention) removed(id, owner string) error {
	by := ""
	if q := t.quota.of(owner).ResultBytes; q > 0 {
		by = fmt.Sprintf(", and of %s %d bytes (--quota)", owner, q)
	}
	return absent("the result of job %s is gone: the master keeps results for %v, and %d bytes of them (--keep-results, --keep-result-bytes)%s; or it was deleted from --data", id, t.age, t.bytes, by)
}

// add adds an earlier master's result unless it has an entry.
func (t *retention) add(k *stored) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[k.id] == nil {
		t.all[k.id] = k
	}
}

// find returns the job of a stored result, or nil. damage is set if the manifest is damaged.
func (t *retention) find(id string) (job *control.Job, damage error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.all[id]; k != nil {
		return k.job, k.damage
	}
	return nil, nil
}

// jobs returns the jobs of stored results, oldest first.
func (t *retention) jobs() []*control.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*control.Job
	for _, k := range slices.SortedFunc(maps.Values(t.all), older) {
		if k.job != nil {
			all = append(all, k.job)
		}
	}
	return all
}

// drop removes an entry whose result is invalid or will be written again.
func (t *retention) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// earlier returns a job of which only the result is still known, mostly of an earlier master, or
// nil.
func (s *server) earlier(id string) *control.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster.jobs[id] != nil {
		return nil
	}
	job, _ := s.results.retention.find(id)
	return job
}
