package web

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// offer is the result of a run in this process, until it is withdrawn.
type offer struct {
	job       string
	form      resultlines.Form
	write     func(ctx context.Context, w io.Writer) error
	withdrawn context.Context
	readers   sync.WaitGroup
}

// Offer serves the result of the newest run with a name. write writes the lines, and may be called
// concurrently. withdraw ends that: it cancels the readers, and waits for them.
func (l *Local) Offer(
	name string, form resultlines.Form, write func(ctx context.Context, w io.Writer) error,
) (withdraw func()) {
	withdrawn, cancel := context.WithCancel(context.Background())
	o := &offer{job: l.SetResult(name, true), form: form, write: write, withdrawn: withdrawn}
	l.mu.Lock()
	l.offered = o
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		l.offered = nil
		l.mu.Unlock()
		l.SetResult(name, false)
		cancel()
		o.readers.Wait()
	}
}

// offerOf returns the offer of a job's result. The caller must call readers.Done afterwards.
func (l *Local) offerOf(id string) (*offer, error) {
	l.mu.Lock()
	o := l.offered
	if o != nil && o.job == id {
		o.readers.Add(1)
		l.mu.Unlock()
		return o, nil
	}
	l.mu.Unlock()
	if _, err := l.Job(id); err != nil {
		return nil, err
	}
	return nil, refuse(http.StatusNotFound, "there is no result of job %.80s here: superstep run --http-linger has one when the run has ended", id)
}

// Result passes the lines of a run's result to each.
func (l *Local) Result(ctx context.Context, id string, each func(data []byte) error) error {
	o, err := l.offerOf(id)
	if err != nil {
		return err
	}
	defer o.readers.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.withdrawn, cancel)()
	if err = o.write(ctx, eachWriter(each)); err != nil && o.withdrawn.Err() != nil {
		return errClosing
	}
	return err
}

// form returns the format of the lines of a run's result.
func (l *Local) form(id string, _ bool) (resultlines.Form, error) {
	o, err := l.offerOf(id)
	if err != nil {
		return resultlines.Form{}, err
	}
	defer o.readers.Done()
	return o.form, nil
}

// eachWriter is an io.Writer that calls a function.
type eachWriter func(data []byte) error

func (f eachWriter) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
