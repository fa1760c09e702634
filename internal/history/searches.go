package history

import (
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Searches is a Journal for one job that makes a run of each search of a benchmark. The run's name
// is the job's name, a blank, and the search's name. A search ends when the next one begins or the
// job ends.
type Searches struct {
	To     trace.Journal
	job    trace.Job
	search string // current search, as named in records
}

// Record passes an event on, with a superstep assigned to its search.
func (s *Searches) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		s.job = *e
	case *record.Superstep:
		if s.job.Program == trace.Graph500 && e.Job != s.job.Job {
			return s.step(e)
		}
	case *trace.Search:
		of := *e
		of.Job = s.job.Job + " " + e.Job
		return s.To.Record(&of)
	case *trace.End:
		last := &trace.End{State: e.State, Error: e.Error}
		if e.State == trace.Done {
			last.Ended = trace.Converged
		}
		s.over(last)
	}
	return s.To.Record(e)
}

// step passes on a superstep of a search.
func (s *Searches) step(r *record.Superstep) error {
	search, name := r.Job, s.job.Job+" "+r.Job
	if search != s.search {
		s.over(&trace.End{State: trace.Done, Ended: trace.Converged})
		b := s.job
		b.Job, b.More = name, false
		if !r.Ended.IsZero() {
			b.Began = r.Ended.Add(-time.Duration(r.Seconds * float64(time.Second)))
		}
		b.Program, _, _ = strings.Cut(search, " ")
		_ = s.To.Record(&b)
		s.search = search
	}
	r.Job = name
	err := s.To.Record(r)
	r.Job = search
	return err
}

// over ends the current search, if there is one.
func (s *Searches) over(e *trace.End) {
	if s.search != "" {
		e.Job = s.job.Job + " " + s.search
		_ = s.To.Record(e)
		s.search = ""
	}
}
