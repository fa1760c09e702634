// Package following has journals for clients that follow a job of a cluster.
package following

import (
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Late is a journal of one job for a file. The line that begins a run in the file must be complete,
// so Late delays it until the job's graph is known, or until an event that must come after it.
// Stages of loading come before it, as for a run in one process.
type Late struct {
	To    trace.Journal
	begun *trace.Job // not forwarded yet
}

// Record forwards an event, after the beginning of its job.
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

// begin forwards the beginning of the job, if that has not been done.
func (l *Late) begin() error {
	b := l.begun
	if b == nil {
		return nil
	}
	l.begun, b.More = nil, false
	return l.To.Record(b)
}
