package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// sharedFiles are the results of jobs, and the columns that clients have sent, in the place that masters share, so that the next one has them:
//
//	PLACE/master/results/JOB/TERM/part-00000   and job.json, as in a directory of results
//	PLACE/master/columns/ID
//
// TERM is the number of the master's run, so that a master that was stopped for long writes beside the one that leads now. Of a job that is done the
// last term has its result: no attempt follows, and so no term. Each master has a directory, too, in which it makes and reads them: what is not
// there it fetches. A nil one is of a master that shares nothing. Where the place hangs, its callers wait no longer than ctx lets them.
type sharedFiles struct {
	store store.Store
	term  string
	held  func() bool // nothing is removed by who may lead no more
}

// Names in the place, and how long what is asked of it may take: for so long, and as long as so many bytes a second take.
const (
	sharedResults = "results/"
	sharedColumns = "columns/"
	sharedWithin  = time.Minute
	sharedRate    = 10e6
	fetchedName   = "fetched-" // what is being fetched
)

// within does something with the place, of so many bytes, and waits for it no longer than ctx and what that may take. What hangs goes on with an ended
// context, and nobody hears of what it returns.
func within[T any](ctx context.Context, f *sharedFiles, size int64, do func(ctx context.Context) (T, error)) (T, error) {
	most := sharedWithin + time.Duration(float64(size)/sharedRate)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%s does not answer within %v", f.store, most))
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// withinErr is within of what returns nothing else.
func withinErr(ctx context.Context, f *sharedFiles, size int64, do func(ctx context.Context) error) error {
	_, err := within(ctx, f, size, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}

// put stores a file under a name.
func (f *sharedFiles) put(ctx context.Context, root *os.Root, file, name string) error {
	from, err := root.Open(file)
	if err != nil {
		return err
	}
	info, err := from.Stat()
	if err != nil {
		return errors.Join(err, from.Close())
	}
	return withinErr(ctx, f, info.Size(), func(ctx context.Context) error {
		defer from.Close()
		return f.store.Put(ctx, name, from, info.Size())
	})
}

// publish stores the parts of a job's result.
func (f *sharedFiles) publish(ctx context.Context, root *os.Root, parts []*part) error {
	if f == nil {
		return nil
	}
	for _, p := range parts {
		job, name := path.Split(p.name)
		if err := f.put(ctx, root, p.name, path.Join(sharedResults, job, f.term, name)); err != nil {
			return err
		}
	}
	return nil
}

// describe stores what the job is beside its result.
func (f *sharedFiles) describe(ctx context.Context, job string, about []byte) error {
	if f == nil {
		return nil
	}
	name := path.Join(sharedResults, job, f.term, manifestName)
	return withinErr(ctx, f, 0, func(ctx context.Context) error {
		return f.store.Put(ctx, name, bytes.NewReader(about), int64(len(about)))
	})
}

// list finds what there is of results, of all jobs or of one: of each job the last term.
func (f *sharedFiles) list(ctx context.Context, job string) (map[string][]store.Object, error) {
	prefix := sharedResults
	if job != "" {
		prefix += job + "/"
	}
	return within(ctx, f, 0, func(ctx context.Context) (map[string][]store.Object, error) {
		all, terms := map[string][]store.Object{}, map[string]string{}
		for o, err := range f.store.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			names := strings.Split(o.Name, "/")
			if len(names) != 4 || !jobName.MatchString(names[1]) || !strings.HasPrefix(names[3], partPrefix) && names[3] != manifestName {
				continue
			}
			id, term := names[1], names[2]
			if term > terms[id] {
				terms[id], all[id] = term, nil
			}
			if term == terms[id] {
				all[id] = append(all[id], o)
			}
		}
		return all, nil
	})
}

// fetch copies objects to files in a directory of root, which is there as a whole or not at all.
// Parts of a result are as they were written then.
func (f *sharedFiles) fetch(ctx context.Context, root *os.Root, dir string, objects []store.Object, sums []*control.Sum) error {
	written := map[string]*store.Sum{}
	for i, sum := range sums {
		wrote := sumOf(sum)
		written[path.Base(partName(dir, i))] = &wrote
	}
	fresh, size := fetchedName+dir, int64(0)
	for _, o := range objects {
		size += o.Size
	}
	if err := errors.Join(root.RemoveAll(fresh), root.MkdirAll(fresh, 0o700)); err != nil {
		return err
	}
	err := withinErr(ctx, f, size, func(ctx context.Context) error {
		for _, o := range objects {
			if err := f.copy(ctx, root, o, path.Join(fresh, path.Base(o.Name)), written[path.Base(o.Name)]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = root.Rename(fresh, dir)
	}
	if err != nil {
		return errors.Join(err, root.RemoveAll(fresh))
	}
	return nil
}

// copy makes a file of an object, which is as it was written if that is known.
func (f *sharedFiles) copy(ctx context.Context, root *os.Root, o store.Object, name string, written *store.Sum) error {
	if ctx.Err() != nil { // nobody waits: the directory may be another's by now
		return context.Cause(ctx)
	}
	to, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	var found store.Sum
	buffer := make([]byte, min(o.Size, 4<<20))
	for off := int64(0); off < o.Size && err == nil; off += int64(len(buffer)) {
		buffer = buffer[:min(int64(len(buffer)), o.Size-off)]
		if err = f.store.GetRange(ctx, o, off, buffer); err == nil {
			_, err = io.MultiWriter(to, &found).Write(buffer)
		}
	}
	if err == nil && written != nil {
		err = written.Damage(fmt.Sprintf("%s/%s", f.store, o.Name), found)
	}
	return errors.Join(err, to.Close())
}

// remove removes what there is below a prefix.
func (f *sharedFiles) remove(ctx context.Context, prefix string) error {
	if f == nil || !f.held() {
		return nil
	}
	return withinErr(ctx, f, 0, func(ctx context.Context) error {
		var gone []string
		for o, err := range f.store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			gone = append(gone, o.Name)
		}
		for _, name := range gone {
			if err := f.store.Delete(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetchedResult fetches a job's result that is in the place and not in the directory, and counts it among those that are kept. It reports whether the
// result is there.
func (r *results) fetchedResult(ctx context.Context, id string, sums []*control.Sum) (bool, error) {
	f := r.shared
	release, err := r.fetching.take(ctx, id)
	if err != nil {
		return false, err
	}
	defer release()
	if _, err := r.root.Stat(id); err == nil {
		return true, nil
	}
	found, err := f.list(ctx, id)
	if err != nil || len(found[id]) == 0 {
		return false, err
	}
	if err := f.fetch(ctx, r.root, id, found[id], sums); err != nil {
		return false, err
	}
	k := r.foundShared(id, found[id])
	r.manifest(k)
	r.retention.add(k)
	return true, nil
}

// open keeps a job's result from being removed until done is called, and fetches it first if it is in the place that masters share alone. done is nil if
// there is none, or an error. sums are those of its parts.
func (r *results) open(ctx context.Context, id string, sums []*control.Sum) (done func(), err error) {
	done = r.retention.read(id)
	if r.shared == nil {
		return done, nil
	}
	there, err := r.fetchedResult(ctx, id, sums)
	if done == nil && there {
		done = r.retention.read(id)
	}
	if !there && done != nil {
		done()
		done = nil
	}
	return done, err
}

// openResult is results.open, but that there is none is an error, too.
func (s *Server) openResult(ctx context.Context, j *control.Job) (done func(), err error) {
	id := j.Id
	done, err = s.results.open(ctx, id, j.ResultParts)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return nil, s.damaged(id, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("the result of job %s: %s", id, control.Text(err.Error(), control.MaxText)))
	case done == nil && s.shared != nil:
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("the result of job %s is not there: it was removed, or could not be stored where masters share their state", id))
	case done == nil:
		return nil, s.results.retention.removed(id, j.Owner)
	}
	return done, nil
}

// foundShared is a result in the place, of whose job nothing is known yet.
func (r *results) foundShared(id string, objects []store.Object) *stored {
	k := &stored{id: id, ended: r.now()}
	for _, o := range objects {
		k.bytes += o.Size
	}
	return k
}

// retainShared counts the results in the place among those that are kept, and removes those that are not to be.
func (r *results) retainShared(ctx context.Context) error {
	found, err := r.shared.list(ctx, "")
	if err != nil {
		return err
	}
	for id, objects := range found {
		k := r.foundShared(id, objects)
		for _, o := range objects {
			if path.Base(o.Name) == manifestName && o.Size <= maxManifest {
				data, err := within(ctx, r.shared, o.Size, func(ctx context.Context) ([]byte, error) {
					data := make([]byte, o.Size)
					return data, r.shared.store.GetRange(ctx, o, 0, data)
				})
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				if err == nil {
					r.describes(k, fmt.Sprintf("%s/%s", r.shared.store, o.Name), data)
				}
			}
		}
		r.retention.add(k)
	}
	r.retention.mu.Lock()
	gone := r.retention.expire(r.now())
	r.retention.mu.Unlock()
	r.erase(ctx, gone)
	return nil
}

// turns lets one caller at a time do something with a name.
type turns struct{ busy sync.Map }

// take waits for those before, and returns what lets the next one go on.
func (t *turns) take(ctx context.Context, name string) (release func(), err error) {
	mine := make(chan struct{})
	for {
		before, busy := t.busy.LoadOrStore(name, mine)
		if !busy {
			return func() {
				t.busy.Delete(name)
				close(mine)
			}, nil
		}
		select {
		case <-before.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// spawnShared finds what is in the place that masters share, beside what else the master does.
func (s *Server) spawnShared() {
	s.work.Go(func() {
		if err := errors.Join(s.results.retainShared(s.ctx), s.columns.learnAll(s.ctx)); err != nil && s.ctx.Err() == nil {
			s.log.Warn("it is not known which results and columns of earlier masters there are: what is old stays", "place", s.results.shared.store, "error", err)
		}
	})
}
