package master

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/standby"
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
		return standby.Bounded(ctx, func() error { return call(ctx, s) })
	}}
}

// share also stores results and columns in the place that masters share.
func (r *results) share(s store.Store, held func() bool) {
	r.shared, r.held = &place{patient(s), s.String(), sharedResults}, held
}

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

// publishParts copies the n parts in an attempt's directory to the shared place, if there is one.
func (r *results) publishParts(ctx context.Context, dir string, n int) (err error) {
	for i := 0; i < n && r.shared != nil && err == nil; i++ {
		name := path.Join(dir, partFile(i))
		err = r.publish(ctx, name, sharedResults+name)
	}
	return err
}

// unshare removes everything below a prefix in the shared place.
func (r *results) unshare(ctx context.Context, prefix string) error {
	return r.sweepShared(ctx, prefix, func(string) bool { return true })
}

// sweepShared removes the objects below a prefix in the shared place for which gone returns true,
// while this master leads.
func (r *results) sweepShared(
	ctx context.Context, prefix string, gone func(name string) bool,
) error {
	if r.shared == nil {
		return nil
	}
	for o, err := range r.shared.List(ctx, prefix) {
		if err == nil && gone(o.Name) && r.held() {
			err = r.shared.Delete(ctx, o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open finds a job's result: in the directory, or in the place that masters share. The directory
// may have parts of an attempt that another master has repeated.
func (r *results) open(ctx context.Context, id string, sums []*control.Sum) (*found, error) {
	f, err := r.local.result(ctx, id)
	if err == nil && r.shared != nil && f.check(ctx, sums) != nil {
		f, err = r.shared.result(ctx, id)
	}
	return f, err
}

// openResult finds a job's result.
func (s *server) openResult(ctx context.Context, j *control.Job) (f *found, err error) {
	if len(j.ResultParts) > 0 {
		f, err = s.results.open(ctx, j.Id, j.ResultParts)
	}
	switch {
	case err != nil:
		return nil, s.damaged(ctx, j.Id, err)
	case f == nil || len(f.objects) == 0 || s.shared != nil && !f.begins(): // it was removed
		return nil, s.removed(j)
	}
	return f, nil
}

// sweepResults removes results in the shared place that belong to no job.
func (s *server) sweepResults() {
	err := s.results.sweepShared(s.ctx, sharedResults, func(name string) bool {
		job, _, _ := strings.Cut(strings.TrimPrefix(name, sharedResults), "/")
		return jobName.MatchString(job) && !s.hasResult(job)
	})
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("results of earlier masters cannot be listed, and are kept", "place",
			s.results.shared.called, "error", err)
	}
}
