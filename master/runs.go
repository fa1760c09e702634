package master

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

// runRecords keeps what the page shows of jobs that have ended. The page of the next master with the
// same data, or with the same shared state, shows it again:
//
//	DATA/runs/JOB or PLACE/master/runs/JOB: what Master.Keep returned
//
// One goroutine reads and writes: who ends a job waits for no disk.
type runRecords struct {
	s     *server
	store store.Store
	wake  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	waiting []string // jobs that have ended, or are forgotten
	closed  bool
}

const (
	runsPrefix   = "runs/"
	maxRunRecord = 16 << 20
)

// openRuns makes the runRecords, or leaves them nil where nothing is kept.
func (s *server) openRuns(o *Config) error {
	if o.Keep == nil || o.shared == nil && o.Data == "" {
		return nil
	}
	r := &runRecords{s: s, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if s.records = r; o.shared != nil {
		r.store = patient(o.shared.Store)
		return nil
	}
	d, err := store.OpenDir(o.Data)
	r.store = d
	return err
}

// start tells the page of the jobs that ended before, the last of past last, and begins to work.
func (r *runRecords) start(past []*control.Job) {
	if r == nil {
		return
	}
	for _, about := range past {
		_ = r.s.options.Past(about, nil) // the page's own, which never fails
	}
	go r.work(past)
}

// add has the record of a job that has ended be written or, if the master has forgotten the job, be
// removed. It does not wait.
func (r *runRecords) add(id string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.waiting = append(r.waiting, id)
	r.mu.Unlock()
	r.signal()
}

func (r *runRecords) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// stop waits until all is written, but not for ever for a disk that hangs.
func (r *runRecords) stop() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.signal()
	select {
	case <-r.ended:
		store.Close(r.store)
	case <-time.After(maxLogsStop):
	}
}

// work reads the records of earlier masters, newest first, removes those that nobody wants, and then
// writes what add names.
func (r *runRecords) work(past []*control.Job) {
	defer close(r.ended)
	for i := len(past) - 1; i >= 0 && r.s.ctx.Err() == nil; i-- {
		data, err := store.Get(r.s.ctx, r.store, runsPrefix+past[i].Id, maxRunRecord)
		if err == nil {
			err = r.s.options.Past(past[i], data)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.trouble("the page has nothing but the end of a job of before", past[i].Id, err)
		}
	}
	for o, err := range r.store.List(r.s.ctx, runsPrefix) {
		if err != nil {
			r.trouble("records of jobs cannot be listed: those that nobody wants stay", "", err)
			break
		}
		r.write(strings.TrimPrefix(o.Name, runsPrefix), false)
	}
	for range r.wake {
		r.mu.Lock()
		waiting, closed := r.waiting, r.closed
		r.waiting = nil
		r.mu.Unlock()
		for _, id := range waiting {
			r.write(id, true)
		}
		if closed {
			return
		}
	}
}

// write writes the record of a job, if it has ended just now, or removes that of one which the master
// has forgotten.
func (r *runRecords) write(id string, now bool) {
	r.s.mu.Lock()
	known := r.s.cluster.jobs[id] != nil
	r.s.mu.Unlock()
	var err error
	switch {
	case !r.s.held(): // another master leads
	case !known:
		err = r.store.Delete(context.Background(), runsPrefix+id)
	case now:
		data := r.s.options.Keep(id)
		err = r.store.Put(context.Background(), runsPrefix+id, bytes.NewReader(data), int64(len(data)))
	}
	if err != nil {
		r.trouble("the page of the next master will have nothing but the end of a job", id, err)
	}
}

func (r *runRecords) trouble(what, job string, err error) {
	r.s.log.Warn(what, "job", job, "error", err)
}
