package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// waiting is a command that waits for a job, and what an interrupt does to it:
//
//	submitting --taken--> the job runs --ended--> its result is fetched
//	    |                   |                           |
//	    | cancel when       | on a terminal: ask;       | end: the result
//	    | it is taken       | else, or again: cancel    | stays with the master
//	    v                   v                           v
//
// A job that was told to end is waited for; one more interrupt ends the waiting.
type waiting struct {
	app     *app
	display *progress
	client  *client.Client
	run     func(ctx context.Context, w *waiting) error
	stop    context.CancelCauseFunc

	mu        sync.Mutex
	id        string // of the job, once it is taken
	hasResult bool   // the master keeps what it computes
	over      bool   // it has ended
	wanted    bool   // to be cancelled as soon as it is taken
	stopping  bool   // it was told to end
	failed    error  // why that did not reach the master
	asking    bool   // what to do
	calls     sync.WaitGroup
}

// Why the waiting ends before the job does.
var (
	errDetached = errors.New("detached")
	errGaveUp   = errors.New("interrupted")
	errLeft     = errors.New("the job is not waited for")
)

// endTime bounds the wait for a job that was told to end.
const endTime = 30 * time.Second

// wait connects to the master and runs something that waits for a job.
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
	ctx, w.stop = context.WithCancelCause(ctx)
	done := make(chan struct{})
	var listener sync.WaitGroup
	listener.Go(func() { w.listen(signals, done) })
	err := w.run(ctx, w)
	cause := context.Cause(ctx)
	close(done)
	w.stop(nil)
	listener.Wait()
	w.calls.Wait()
	w.display.done()
	return w.outcome(err, cause)
}

// outcome words how the waiting ended.
func (w *waiting) outcome(err, cause error) error {
	var ended *jobError
	switch {
	case err == nil, errors.Is(err, errLeft):
		return nil
	case errors.Is(cause, errDetached):
		text := fmt.Sprintf("job %s goes on: superstep watch %s shows it", w.id, w.id)
		if w.hasResult {
			text += fmt.Sprintf(", superstep result %s has what it computes", w.id)
		}
		w.app.notices().say(slog.LevelInfo, "superstep: "+text)
		return nil
	case w.stopping && errors.As(err, &ended) && ended.cancelled():
		return fmt.Errorf("interrupted: job %s is cancelled", w.id)
	case cause == nil:
		return err
	case w.over && w.hasResult:
		return fmt.Errorf("interrupted: job %s is done, superstep result %s has what it computed",
			w.id, w.id)
	case w.over:
		return fmt.Errorf("interrupted: job %s is done", w.id)
	case w.id == "":
		return errors.New("interrupted: the master has not answered, and the job will not run")
	case w.failed != nil:
		return fmt.Errorf("interrupted: job %s could not be cancelled, and may go on: %w", w.id,
			w.failed)
	case errors.Is(cause, errGaveUp):
		return fmt.Errorf("interrupted: job %s was told to end, and has not yet", w.id)
	}
	return fmt.Errorf("interrupted: job %s was told to end: %w", w.id, cause)
}

// job submits a job and follows it to its end. The error is errLeft when detach says not to: then
// the job's name has been printed.
func (w *waiting) job(ctx context.Context, spec *job.Spec, f *followed, detach bool) (*control.Job, error) {
	w.display.stage("submitting", 0, 0)
	job, err := w.client.Submit(ctx, spec)
	if connect.CodeOf(err) == connect.CodeInvalidArgument {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	w.submitted(job, spec.KeepResult || spec.Netbench != nil)
	told := w.told()
	if !told {
		if job, err = w.client.Confirm(ctx, job.Id); err != nil {
			return nil, err
		}
	}
	if detach && !told {
		_, err := fmt.Fprintln(w.app.out, job.Id)
		return nil, cmp.Or(err, errLeft)
	}
	f.client, f.display, f.id = w.client, w.display, job.Id
	if job, err = f.watch(ctx); err != nil {
		return nil, err
	}
	return job, w.ended(job)
}

// submitted says that the job is taken.
func (w *waiting) submitted(job *control.Job, hasResult bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.hasResult = job.Id, hasResult
	if w.wanted {
		w.cancel()
	}
}

// ended says that the job is over, and returns an error if it was to end before it was done.
func (w *waiting) ended(job *control.Job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.asked() {
		w.display.show()
	}
	if w.stopping && job.State == control.JobState_JOB_STATE_DONE {
		w.stop(errGaveUp)
		return errGaveUp
	}
	return nil
}

// told reports whether the job is to end.
func (w *waiting) told() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// interrupted reports whether the job is to be cancelled as soon as it is taken.
func (w *waiting) interrupted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted
}

// listen hears interrupts and answers until done.
func (w *waiting) listen(signals <-chan os.Signal, done <-chan struct{}) {
	var answers <-chan string
	for {
		select {
		case s := <-signals:
			if w.interrupt(s == os.Interrupt && w.interactive()) && answers == nil {
				answers = w.answers()
			}
		case text := <-answers:
			w.answer(text)
		case <-done:
			return
		}
	}
}

func (w *waiting) interactive() bool {
	in, ok := w.app.in.(*os.File)
	out, too := w.app.err.(*os.File)
	return ok && too && terminal(in) && terminal(out)
}

// interrupt does what an interrupt does now, and reports whether it asks what that is.
func (w *waiting) interrupt(ask bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.asked()
	switch {
	case w.over, w.stopping, w.id == "" && w.wanted:
		w.stop(errGaveUp)
	case w.id == "":
		w.wanted = true
		w.display.warn("interrupted: waiting for the master's answer")
	case ask && !again:
		w.ask()
		return true
	default:
		w.cancel()
	}
	return false
}

// cancel tells the job to end. The lock is held.
func (w *waiting) cancel() {
	w.stopping = true
	id := w.id
	w.display.show()
	w.display.stage("cancelling job "+id, 0, 0)
	w.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if _, err := w.client.Cancel(ctx, id, "interrupted at the client"); err != nil {
			w.mu.Lock()
			w.failed = err
			w.mu.Unlock()
			w.stop(errGaveUp)
		}
	})
	time.AfterFunc(endTime, func() { w.stop(fmt.Errorf("waited %v for it", endTime)) })
}

// asked ends the question, and reports whether there was one. The lock is held.
func (w *waiting) asked() bool {
	if !w.asking {
		return false
	}
	w.asking = false
	fmt.Fprintln(w.app.err)
	return true
}

// ask asks what to do. The lock is held.
func (w *waiting) ask() {
	w.asking = true
	w.display.hide()
	fmt.Fprintf(w.app.err,
		"job %s: d and Enter detaches from it, c and Enter cancels it, Enter alone goes on waiting [d/c] ", w.id)
}

// answers reads lines of the terminal; closing it is the answer d.
func (w *waiting) answers() <-chan string {
	lines := make(chan string)
	go func() {
		in := bufio.NewReader(w.app.in)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				line = "d"
			}
			lines <- line
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// answer takes a line, which is an answer if there was a question.
func (w *waiting) answer(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asking {
		return
	}
	w.asking = false
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "d", "detach":
		w.stop(errDetached)
	case "c", "cancel":
		w.cancel()
	case "":
		w.display.show()
	default:
		w.ask()
	}
}
