package cli

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	maxUnwritten = 1 << 20     // bytes of unwritten log
	flushTime    = time.Second // how long an ending process waits for the last lines to be written
)

// asyncWriter is the standard error of a master or worker, which must not block when nobody reads
// it. Write never blocks; lines beyond maxUnwritten are dropped and counted.
type asyncWriter struct {
	to      io.Writer
	dropped func(lines int) // logs the number of missing lines

	mu      sync.Mutex
	waiting []byte
	lost    int
	written chan struct{} // closed when everything is written; nil before the first line
	writing bool
}

// writeAsync makes standard error an asyncWriter, for a command that runs a server. main flushes
// it.
func (a *app) writeAsync() {
	to := a.notices()
	a.err = &asyncWriter{to: a.err, dropped: func(lines int) {
		to.say(slog.LevelWarn,
			fmt.Sprintf("%d lines of the log were dropped: nobody read them in time", lines))
	}}
}

func (w *asyncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting)+len(p) > maxUnwritten {
		w.lost++
		return len(p), nil
	}
	w.waiting = append(w.waiting, p...)
	if !w.writing {
		w.writing, w.written = true, make(chan struct{})
		go w.write()
	}
	return len(p), nil
}

func (w *asyncWriter) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 || w.lost > 0 {
		text, lost := w.waiting, w.lost
		w.waiting, w.lost = nil, 0
		w.mu.Unlock()
		_, _ = w.to.Write(text) // an error cannot be reported anywhere
		if lost > 0 {
			w.dropped(lost)
		}
		w.mu.Lock()
	}
	w.writing = false
	close(w.written)
}

// flush waits until everything is written, but at most flushTime.
func (a *app) flush() {
	w, ok := a.err.(*asyncWriter)
	if !ok {
		return
	}
	w.mu.Lock()
	written := w.written
	w.mu.Unlock()
	if written == nil {
		return
	}
	select {
	case <-written:
	case <-time.After(flushTime):
	}
}
