package jobtrace

import (
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Late is a Journal of one job for a file, where the line that begins a run is the last word on it: it comes when the job's
// graph is known, or when something comes that belongs behind it. Stages of the load come before it, as those of a run in
// one process do.
type Late struct {
	To    trace.Journal
	begun *trace.Job // not told yet
}

var (
	_ trace.Journal   = (*Late)(nil)
	_ trace.Describer = (*Late)(nil)
)

// Begin keeps what is known of the job.
func (l *Late) Begin(b *trace.Job) error {
	l.begun = b
	return nil
}

// Describe begins the job with what is known of it now. Of a job that was begun it says nothing.
func (l *Late) Describe(b *trace.Job) error {
	if l.begun != nil {
		l.begun = b
	}
	return l.flush()
}

func (l *Late) flush() error {
	b := l.begun
	if b == nil {
		return nil
	}
	l.begun = nil
	return l.To.Begin(b)
}

// Record begins the job, if it has not begun, and passes the superstep on.
func (l *Late) Record(s *record.Superstep) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.To.Record(s)
}

// End begins the job, if it has not begun, and ends it.
func (l *Late) End(e *trace.End) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.To.End(e)
}

// Stage and Log pass on what they get.
func (l *Late) Stage(s *trace.Stage) error { return l.To.Stage(s) }
func (l *Late) Log(g *trace.Log) error     { return l.To.Log(g) }
