package jobtrace

import (
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
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
func (s *Searches) Record(r *trace.Superstep) error {
	if r.Job == s.job.Job {
		return s.To.Record(r)
	}
	search, name := r.Job, s.job.Job+" "+r.Job
	if search != s.search {
		s.over(trace.Converged, "")
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
func (s *Searches) over(outcome, reason string) {
	if s.search != "" {
		_ = s.To.End(&trace.End{Job: s.job.Job + " " + s.search, Outcome: outcome, Error: reason})
		s.search = ""
	}
}

// End ends the job, and a search that it cuts off with the job's outcome.
func (s *Searches) End(e *trace.End) error {
	outcome := e.Outcome
	if outcome == trace.Limit {
		outcome = trace.Converged // of a benchmark that is done
	}
	s.over(outcome, e.Error)
	return s.To.End(e)
}

// Stage and Log pass on what they get.
func (s *Searches) Stage(g *trace.Stage) error { return s.To.Stage(g) }
func (s *Searches) Log(l *trace.Log) error     { return s.To.Log(l) }
