package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// sharedResults is the prefix of results in the shared place. A call of the place may take
// sharedWithin, plus its bytes divided by sharedRate.
const (
	sharedResults = "results/"
	sharedWithin  = time.Minute
	sharedRate    = 10e6
)

// patient returns a store whose calls return at the latest after these bounds, or when their
// contexts end. A call that hangs continues in the background with an ended context.
func patient(s store.Store) store.Store {
	return &store.Calls{Place: s.String(), Do: func(ctx context.Context, size int64,
		call func(context.Context, store.Store) error,
	) error {
		most := sharedWithin + time.Duration(float64(size)/sharedRate)*time.Second
		ctx, cancel := context.WithTimeoutCause(ctx, most,
			fmt.Errorf("%s does not answer within %v", s, most))
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- call(ctx, s) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
}

// share also stores results and columns in the place that masters share. run is the number of the
// master's run.
func (r *results) share(s store.Store, run uint64, held func() bool) {
	r.shared, r.term, r.held = &place{patient(s), s.String(), sharedResults, 3},
		fmt.Sprintf("%020d", run), held
}

// sharedDir returns the prefix of the names of a job's result in the shared place.
func (r *results) sharedDir(job string) string { return sharedResults + job + "/" + r.term + "/" }

// publish copies a local file to the shared place.
func (r *results) publish(ctx context.Context, file, name string) error {
	from, err := r.root.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return r.shared.Put(ctx, name, from, info.Size())
}

// publishParts copies the parts of a job's result to the shared place, if there is one.
func (r *results) publishParts(ctx context.Context, job string, n int) (err error) {
	for i := 0; i < n && r.shared != nil && err == nil; i++ {
		err = r.publish(ctx, job+"/"+partFile(i), r.sharedDir(job)+partFile(i))
	}
	return err
}

// unshare removes everything below a prefix in the shared place.
func (r *results) unshare(ctx context.Context, prefix string) error {
	if r.shared == nil || !r.held() {
		return nil
	}
	for o, err := range r.shared.List(ctx, prefix) {
		if err == nil {
			err = r.shared.Delete(ctx, o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open finds a job's result in the directory or in the shared place, and protects it from removal
// until done is called. It returns nil if there is none.
func (r *results) open(ctx context.Context, id string) (f *found, done func(), err error) {
	done = r.retention.read(id)
	r.mu.Lock()
	removed := done == nil && r.turns[id] != nil // being removed
	r.mu.Unlock()
	if removed {
		return nil, nil, nil
	}
	f, err = r.local.result(ctx, id)
	if err == nil && r.shared != nil && !f.begins() {
		f, err = r.shared.result(ctx, id)
	}
	// Without a first part, another master has removed it.
	if err == nil && (r.shared == nil || f.begins()) {
		if done == nil && r.shared != nil { // an earlier master's, without an entry yet
			var k *stored
			if k, err = r.inspect(ctx, id, f); err == nil {
				r.retention.add(k)
				done = r.retention.read(id)
			}
		}
		if done != nil {
			return f, done, nil
		}
	}
	if done != nil {
		done()
	}
	return nil, nil, err
}

// openResult is results.open, but a missing result is an error.
func (s *server) openResult(ctx context.Context, j *control.Job) (f *found, done func(), err error) {
	id := j.Id
	f, done, err = s.results.open(ctx, id)
	switch {
	case err != nil:
		err = s.damaged(ctx, id, err)
	case f == nil && s.shared != nil:
		err = absent("the result of job %s is not there: it was removed, or could not be stored where masters share their state", id)
	case f == nil:
		err = s.results.retention.removed(id, j.Owner)
	}
	return f, done, err
}

// learnShared adds the results of the shared place, and removes those that exceed the bounds.
func (r *results) learnShared(ctx context.Context) error {
	all, err := r.shared.results(ctx, "")
	if err != nil {
		return err
	}
	for id, f := range all {
		k, failed := r.inspect(ctx, id, f)
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			return failed
		}
		r.retention.add(k)
	}
	t := &r.retention
	t.mu.Lock()
	defer t.mu.Unlock()
	r.erase(t.expire(r.now()))
	return nil
}

// spawnShared finds results and columns in the shared place in the background.
func (s *server) spawnShared() {
	s.work.Go(func() {
		if err := errors.Join(s.results.learnShared(s.ctx),
			s.columns.learnAll(s.ctx)); err != nil && s.ctx.Err() == nil {
			s.log.Warn("it is not known which results and columns of earlier masters there are: what is old stays", "place", s.results.shared.called, "error", err)
		}
	})
}
