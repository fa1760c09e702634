package web

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// offer is what a run of this process has computed, for those who ask, until it is withdrawn.
type offer struct {
	job       string
	form      resultlines.Form
	write     func(ctx context.Context, w io.Writer) error
	withdrawn context.Context
	readers   sync.WaitGroup
}

// Offer lets the page ask for what the newest run of a name has computed, of which write writes the
// lines; several goroutines may call it at once. withdraw ends that: it stops those who read, and
// waits for them.
func (l *Local) Offer(name string, form resultlines.Form, write func(ctx context.Context, w io.Writer) error) (withdraw func()) {
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

// offerOf returns what is offered of a job. Who reads it calls its readers.Done in the end.
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

// Result passes on what a run has computed.
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

// form is how the lines of a result read.
func (l *Local) form(id string, _ bool) (resultlines.Form, error) {
	o, err := l.offerOf(id)
	if err != nil {
		return resultlines.Form{}, err
	}
	defer o.readers.Done()
	return o.form, nil
}

// eachWriter gives what is written to a function.
type eachWriter func(data []byte) error

func (f eachWriter) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
