// Package following has journals of a job of a cluster that a client follows.
package following

import (
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Late is a Journal of one job for a file, where the line that begins a run is the last word on it:
// it comes when the job's graph is known, or when something comes that belongs behind it. Stages of
// the load come before it, as those of a run in one process do.
type Late struct {
	To    trace.Journal
	begun *trace.Job // not told yet
}

// Record passes an event on, after what begins its job.
func (l *Late) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		if !e.More {
			l.begun = e
			return nil
		}
		if l.begun != nil {
			l.begun = e
		}
		return l.begin()
	case *record.Superstep, *trace.End:
		if err := l.begin(); err != nil {
			return err
		}
	}
	return l.To.Record(e)
}

// begin begins the job, if it has not begun.
func (l *Late) begin() error {
	b := l.begun
	if b == nil {
		return nil
	}
	l.begun, b.More = nil, false
	return l.To.Record(b)
}
