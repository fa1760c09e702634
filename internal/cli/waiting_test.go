package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
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
		var said strings.Builder
		a := &app{out: io.Discard, err: &said, in: strings.NewReader("")}
		a.interrupts.heard = make(chan os.Signal, 1)
		w := &waiting{app: a, display: a.progress(), run: run}
		err := w.execute(t.Context())
		signal.Stop(a.interrupts.heard)
		if err == nil || err.Error() != want || said.Len() > 0 {
			t.Errorf("found %v, said %q, expected %q", err, said.String(), want)
		}
	}
}
