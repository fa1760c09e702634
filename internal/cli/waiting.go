package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"connectrpc.com/connect"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// waiting is a command that waits for a job, with the effect of interrupts:
//
//	submitting --taken--> the job runs --ended--> its result is fetched
//	    |                   |                           |
//	    | cancel when       | SIGQUIT: detach;          | end: the result
//	    | it is taken       | others: cancel            | stays with the master
//	    v                   v                           v
//
// The command waits for the end of a cancelled job, unless it is interrupted once more. After it
// detached, no interrupt cancels the job.
type waiting struct {
	app      *app
	display  *progress
	client   *client.Client
	run      func(ctx context.Context, w *waiting) error
	patience context.Context         // for calls after the job was cancelled
	leave    context.CancelCauseFunc // ends patience and everything else
	stop     context.CancelCauseFunc // ends the current call, to cancel the job or to detach

	mu        sync.Mutex
	submits   bool   // the job was or will be submitted
	id        string // of the job, once it is accepted
	hasResult bool   // the master stores the result
	over      bool   // the job has ended
	stopping  bool   // the job is being cancelled
	detached  bool   // the job goes on without this command
}

// Reasons to stop waiting before the job ends.
var (
	errDetached = errors.New("detached")
	errEnd      = errors.New("interrupted")
	errGaveUp   = errors.New("interrupted again")
	errLeft     = errors.New("nobody waits for the job")
)

// wait connects to the master and calls run, which waits for a job.
func (f *clientFlags) wait(ctx context.Context, a *app, d *progress, run func(ctx context.Context,
	w *waiting) error,
) error {
	d.stage("waiting for the master", 0, 0)
	c, err := f.connect(ctx, d.warn)
	if err != nil {
		return err
	}
	defer c.Close()
	return (&waiting{app: a, display: d, client: c, run: run}).execute(ctx)
}

func (w *waiting) execute(ctx context.Context) error {
	signals, giveBack := w.app.interrupts.take()
	defer giveBack()
	w.patience, w.leave = context.WithCancelCause(ctx)
	ctx, w.stop = context.WithCancelCause(w.patience)
	done := make(chan struct{})
	var listener sync.WaitGroup
	listener.Go(func() { w.listen(signals, done) })
	err := w.run(ctx, w)
	cause := context.Cause(ctx)
	close(done)
	w.leave(nil)
	listener.Wait()
	w.display.done()
	switch {
	case err == nil, errors.Is(err, errLeft):
		return nil
	case errors.Is(err, errDetached):
		text := fmt.Sprintf("job %s goes on: superstep watch %s shows it", w.id, w.id)
		if w.hasResult {
			text += fmt.Sprintf(", superstep result %s has what it computes", w.id)
		}
		w.app.notices().say(slog.LevelInfo, "superstep: "+text)
		return nil
	case w.over && cause != nil && !errors.As(err, new(*jobError)):
		return w.isDone()
	case !w.submits && cause != nil:
		return errors.New("interrupted: no job was submitted")
	case w.id == "" && cause != nil:
		return errors.New("interrupted: the master has not answered, and the job will not run")
	}
	return err
}

// isDone is the error of a command that was interrupted after its job was done.
func (w *waiting) isDone() error {
	if w.hasResult {
		return fmt.Errorf("interrupted: job %s is done, superstep result %s has what it computed",
			w.id, w.id)
	}
	return fmt.Errorf("interrupted: job %s is done", w.id)
}

// job submits a job and follows it to its end. With detach it only prints the job's id and returns
// errLeft.
func (w *waiting) job(
	ctx context.Context, spec *job.Spec, f *followed, detach bool,
) (*control.Job, error) {
	w.mu.Lock()
	w.submits = !w.stopping
	w.mu.Unlock()
	if !w.submits {
		return nil, errEnd
	}
	w.display.stage("submitting", 0, 0)
	f.display = w.display
	defer f.ended()
	each, at := f.event, &client.Place{}
	if detach {
		each = nil
	}
	job, err := w.client.Start(ctx, w.patience, spec, func(id string) bool {
		f.id = id
		return w.submitted(id, spec.KeepResult || spec.Netbench != nil)
	}, at, each)
	switch stopping := w.ended(err == nil && !detach); {
	case err == nil && !stopping && detach:
		_, failed := fmt.Fprintln(w.app.out, w.id)
		return nil, cmp.Or(failed, errLeft)
	case err == nil && !stopping:
		return job, nil
	case connect.CodeOf(err) == connect.CodeInvalidArgument:
		return nil, usageError{err}
	case w.id == "" || errors.Is(err, client.ErrForgotten):
		return nil, err
	case !stopping:
		return nil, fmt.Errorf("job %s may go on: %w", w.id, err)
	case err != nil || detach:
		w.display.stage("cancelling job "+w.id, 0, 0)
		if job, err = w.client.End(w.patience, w.id, "interrupted at the client",
			at, f.event); err != nil {
			return nil, fmt.Errorf("interrupted: %w", err)
		}
	}
	switch job.State {
	case control.JobState_JOB_STATE_DONE:
		return nil, w.isDone()
	case control.JobState_JOB_STATE_CANCELLED:
		return nil, fmt.Errorf("interrupted: job %s is cancelled", w.id)
	}
	return job, nil
}

// submitted notes that the master has accepted the job. It reports whether the job may begin.
func (w *waiting) submitted(id string, hasResult bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.hasResult = id, hasResult
	return !w.stopping
}

// ended notes that the command no longer follows the job; over means that the job has ended. It
// reports whether the job was being cancelled.
func (w *waiting) ended(over bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = over
	return w.stopping
}

// listen handles interrupts until done is closed.
func (w *waiting) listen(signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			w.interrupt(s)
		case <-done:
			return
		}
	}
}

func (w *waiting) interrupt(s os.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over, w.stopping, w.detached:
		w.leave(errGaveUp)
		return
	case s == syscall.SIGQUIT && w.id != "":
		w.detached = true
		w.stop(errDetached)
		return
	case w.submits && w.id == "":
		w.display.warn("interrupted: waiting for the master's answer")
	}
	w.stopping = true
	w.stop(errEnd)
}
