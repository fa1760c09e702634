package web

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// offers has the result of a run in this process, until it is withdrawn. Readers hold the lock.
type offers struct {
	sync.RWMutex
	job       string // "" if there is none
	form      resultlines.Form
	write     func(ctx context.Context, w io.Writer) error
	withdrawn context.Context
}

// Offer serves the result of the newest run with a name. write writes the lines, and may be called
// concurrently. withdraw ends that: it cancels the readers, and waits for them.
func (l *Local) Offer(
	name string, form resultlines.Form, write func(ctx context.Context, w io.Writer) error,
) (withdraw func()) {
	withdrawn, cancel := context.WithCancel(context.Background())
	o := &l.offers
	o.Lock()
	defer o.Unlock()
	o.job, o.form, o.write, o.withdrawn = l.SetResult(name, true), form, write, withdrawn
	return func() {
		l.SetResult(name, false)
		cancel()
		o.Lock()
		defer o.Unlock()
		o.job, o.write = "", nil
	}
}

// offered returns an error unless the result of a job is here. The caller holds the lock.
func (l *Local) offered(id string) error {
	if id != "" && id == l.offers.job {
		return nil
	}
	if _, err := l.Job(id); err != nil {
		return err
	}
	return refuse(http.StatusNotFound, "there is no result of job %.80s here: superstep run --http-linger has one when the run has ended", id)
}

// Result passes the lines of a run's result to each.
func (l *Local) Result(ctx context.Context, id string, each func(data []byte) error) error {
	o := &l.offers
	o.RLock()
	defer o.RUnlock()
	if err := l.offered(id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.withdrawn, cancel)()
	err := o.write(ctx, eachWriter(each))
	if err != nil && o.withdrawn.Err() != nil {
		return errClosing
	}
	return err
}

// form returns the format of the lines of a run's result.
func (l *Local) form(id string) (resultlines.Form, error) {
	l.offers.RLock()
	defer l.offers.RUnlock()
	return l.offers.form, l.offered(id)
}

// eachWriter is an io.Writer that calls a function.
type eachWriter func(data []byte) error

func (f eachWriter) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
