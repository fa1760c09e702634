package jobtrace

import (
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Searches is a Journal of one job that makes a run of each of a benchmark's searches: under the job's name, a blank, and
// its own. A search has ended when the next begins, or the job ends.
type Searches struct {
	To     trace.Journal
	job    trace.Job
	search string // that runs, as the records call it
}

var (
	_ trace.Journal   = (*Searches)(nil)
	_ trace.Describer = (*Searches)(nil)
)

// Begin begins the job.
func (s *Searches) Begin(b *trace.Job) error {
	s.job = *b
	return s.To.Begin(b)
}

// Describe passes on what is known of the job.
func (s *Searches) Describe(b *trace.Job) error {
	s.job = *b
	if d, ok := s.To.(trace.Describer); ok {
		return d.Describe(b)
	}
	return nil
}

// Record passes a superstep on, to the search it is of.
func (s *Searches) Record(r *record.Superstep) error {
	if r.Job == s.job.Job {
		return s.To.Record(r)
	}
	search, name := r.Job, s.job.Job+" "+r.Job
	if search != s.search {
		s.over(&trace.End{State: trace.Done, Ended: trace.Converged})
		b := s.job
		b.Job, b.Began = name, time.Now()
		b.Program, _, _ = strings.Cut(search, " ")
		_ = s.To.Begin(&b)
		s.search = search
	}
	r.Job = name
	err := s.To.Record(r)
	r.Job = search
	return err
}

// over ends the search that runs, if one does.
func (s *Searches) over(e *trace.End) {
	if s.search != "" {
		e.Job = s.job.Job + " " + s.search
		_ = s.To.End(e)
		s.search = ""
	}
}

// End ends the job, and a search that it cuts off with the job's state.
func (s *Searches) End(e *trace.End) error {
	last := &trace.End{State: e.State, Error: e.Error}
	if e.State == trace.Done {
		last.Ended = trace.Converged
	}
	s.over(last)
	return s.To.End(e)
}

// Stage and Log pass on what they get.
func (s *Searches) Stage(g *trace.Stage) error { return s.To.Stage(g) }
func (s *Searches) Log(l *trace.Log) error     { return s.To.Log(l) }
