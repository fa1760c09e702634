package cli

import (
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	maxUnwritten = 4096        // lines of the log
	flushTime    = time.Second // how long an ending process waits for the last lines to be written
)

// asyncWriter is the standard error of a master or worker, which must not block when nobody reads
// it. Write never blocks; lines beyond maxUnwritten are dropped and counted.
type asyncWriter struct {
	to      io.Writer
	waiting chan unwritten
	lost    atomic.Int64
}

// unwritten is a line, or else a request to close done when all lines before it are written.
type unwritten struct {
	line []byte
	done chan struct{}
}

// writeAsync makes standard error an asyncWriter, for a command that runs a server. main flushes
// it.
func (a *app) writeAsync() {
	w := &asyncWriter{to: a.err, waiting: make(chan unwritten, maxUnwritten)}
	go w.write(a.notices())
	a.err = w
}

func (w *asyncWriter) Write(p []byte) (int, error) {
	select {
	case w.waiting <- unwritten{line: append([]byte(nil), p...)}:
	default:
		w.lost.Add(1)
	}
	return len(p), nil
}

func (w *asyncWriter) write(to *notices) {
	for u := range w.waiting {
		if u.done != nil {
			close(u.done)
			continue
		}
		_, _ = w.to.Write(u.line) // an error cannot be reported anywhere
		if lost := w.lost.Swap(0); lost > 0 {
			to.say(slog.LevelWarn,
				fmt.Sprintf("%d lines of the log were dropped: nobody read them in time", lost))
		}
	}
}

// flush waits until everything is written, but at most flushTime.
func (a *app) flush() {
	w, ok := a.err.(*asyncWriter)
	if !ok {
		return
	}
	done, end := make(chan struct{}), time.After(flushTime)
	select {
	case w.waiting <- unwritten{done: done}:
	case <-end:
		return
	}
	select {
	case <-done:
	case <-end:
	}
}
