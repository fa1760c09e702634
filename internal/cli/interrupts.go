package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long after an interrupt the process ends by itself: a pipe that nobody opens
// holds a goroutine for ever.
const patience = 3 * time.Second

// interrupts are what SIGINT and SIGTERM do: the first ends a context, and a second one the
// process, unless a command has taken them.
type interrupts struct {
	leave   func()       // says so and ends the process
	more    atomic.Int64 // nanoseconds that the end may take beyond patience
	patient atomic.Bool  // the end may take any time
	heard   chan os.Signal
}

// watch begins to listen and returns a context that an interrupt ends, and what ends the listening.
func (i *interrupts) watch() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	heard := make(chan os.Signal, 4)
	i.heard = heard
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-heard:
		case <-done:
			return
		}
		var late <-chan time.Time
		again := heard
		if !i.patient.Load() {
			signal.Stop(heard)
			late, again = time.After(patience+time.Duration(i.more.Load())), nil
		}
		cancel()
		select {
		case <-done:
		case <-late:
			i.leave()
		case <-again:
			i.leave()
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		cancel()
		close(done)
	}
}

// hearHangUp makes the end of the terminal that the process was started in an interrupt too, unless
// it is to outlive that (nohup).
func (i *interrupts) hearHangUp() {
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(i.heard, syscall.SIGHUP)
	}
}

// send is an interrupt that comes from this process itself.
func (i *interrupts) send() {
	select {
	case i.heard <- os.Interrupt:
	default: // many wait already
	}
}

// take gives the interrupts to a command, until it gives them back.
func (i *interrupts) take() (<-chan os.Signal, func()) {
	taken := make(chan os.Signal, 4)
	signal.Notify(taken, os.Interrupt, syscall.SIGTERM)
	signal.Stop(i.heard)
	return taken, func() {
		signal.Notify(i.heard, os.Interrupt, syscall.SIGTERM)
		signal.Stop(taken)
	}
}

func (a *app) interrupted() {
	a.monitor.Load().end()
	fmt.Fprintln(a.err, "superstep: interrupted")
	a.flush()
	os.Exit(exitFailed)
}

// late ends the process when a run that took too long does not end by itself: a Compute that does
// not return holds it.
func (a *app) late(err error) {
	time.AfterFunc(patience, func() {
		a.notices().say(slog.LevelError, oneLine(err))
		a.flush()
		os.Exit(exitFailed)
	})
}

// endWithInput begins to wait for the end of standard input, if that is wanted: a parent keeps this
// process, which ends with it. It interrupts this process, and again if that takes long.
func (f *daemonFlags) endWithInput(a *app) {
	if !f.EndWithInput {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.in) // an error is its end too
		a.interrupts.send()
		<-time.After(patience)
		a.interrupts.send()
	}()
}
