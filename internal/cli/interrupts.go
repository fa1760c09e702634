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

// patience is how long the process may take to end after an interrupt, because a goroutine that
// opens a pipe may block forever.
const patience = 3 * time.Second

// interrupts handles SIGINT and SIGTERM: the first cancels a context, the second ends the process,
// unless a command has taken the signals.
type interrupts struct {
	leave   func()       // reports the interrupt and ends the process
	more    atomic.Int64 // nanoseconds that the end may take beyond patience
	patient atomic.Bool  // the end may take any time
	heard   chan os.Signal
}

// watch starts to listen. It returns a context that an interrupt cancels, and a function that stops
// listening.
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

// hearHangUp also handles SIGHUP, unless the process was started to ignore it (nohup).
func (i *interrupts) hearHangUp() {
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(i.heard, syscall.SIGHUP)
	}
}

// send simulates an interrupt.
func (i *interrupts) send() {
	select {
	case i.heard <- os.Interrupt:
	default: // enough are queued
	}
}

// take passes the signals, and SIGQUIT, to a command until it calls the returned function.
func (i *interrupts) take() (<-chan os.Signal, func()) {
	taken := make(chan os.Signal, 4)
	signal.Notify(taken, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
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

// late ends the process if a run that timed out does not end, because a Compute does not return.
func (a *app) late(err error) {
	time.AfterFunc(patience, func() {
		a.notices().say(slog.LevelError, oneLine(err))
		a.flush()
		os.Exit(exitFailed)
	})
}

// endWithInput interrupts this process when standard input closes, if requested, because its parent
// has ended. It interrupts it again if the end takes long.
func (f *daemonFlags) endWithInput(a *app) {
	if !f.EndWithInput {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.in) // an error also means that it is closed
		a.interrupts.send()
		<-time.After(patience)
		a.interrupts.send()
	}()
}
