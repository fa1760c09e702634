package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestWhatInterruptsSay: an interrupt before the submission reports that no job was submitted. If
// the job failed meanwhile, the failure is reported.
func TestWhatInterruptsSay(t *testing.T) {
	failed := &jobError{&control.Job{Id: "j", Reason: "why"}}
	for want, run := range map[string]func(context.Context, *waiting) error{
		"interrupted: no job was submitted": func(ctx context.Context, w *waiting) error {
			w.interrupt(os.Interrupt)
			<-ctx.Done()
			_, err := w.job(ctx, nil, nil, false)
			return err
		},
		"job j failed: why": func(_ context.Context, w *waiting) error {
			w.submits = true
			w.submitted("j", true)
			w.interrupt(os.Interrupt)
			w.ended(true)
			return failed
		},
		"interrupted: job j is done": func(ctx context.Context, w *waiting) error {
			w.submits = true
			w.submitted("j", false)
			w.ended(true)
			w.interrupt(os.Interrupt)
			return context.Cause(ctx)
		},
	} {
		if said, err := waitFor(t, run); err == nil || err.Error() != want || said != "" {
			t.Errorf("found %v, said %q, expected %q", err, said, want)
		}
	}
}

// waitFor executes a command that waits for a job. It returns its messages and its error.
func waitFor(t *testing.T, run func(context.Context, *waiting) error) (messages string, err error) {
	t.Helper()
	var said strings.Builder
	a := &app{out: io.Discard, err: &said, in: strings.NewReader("")}
	a.interrupts.heard = make(chan os.Signal, 1)
	defer signal.Stop(a.interrupts.heard)
	err = (&waiting{app: a, display: a.progress(), run: run}).execute(t.Context())
	return said.String(), err
}

// TestInterruptAfterDetaching: after Ctrl-\ no interrupt cancels the job. If the confirmation of the
// job did not arrive, the command does not report that the job goes on.
func TestInterruptAfterDetaching(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		said, err := waitFor(t, func(ctx context.Context, w *waiting) error {
			w.submits = true
			w.submitted("j", false)
			w.interrupt(syscall.SIGQUIT)
			w.interrupt(os.Interrupt)
			if w.ended(false) {
				t.Error("the job is being cancelled")
			}
			if confirmed {
				return context.Cause(ctx)
			}
			return context.Cause(w.patience)
		})
		const goesOn = "superstep: job j goes on: superstep watch j shows it\n"
		if confirmed && (err != nil || said != goesOn) ||
			!confirmed && (!errors.Is(err, errGaveUp) || said != "") {
			t.Errorf("confirmed %t: found %v, said %q", confirmed, err, said)
		}
	}
}
