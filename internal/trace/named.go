package trace

import "github.com/superstep-go/superstep/record"

// WarmUp is the suffix of the name of a search that is only a warm-up. The summaries of reports
// leave it out; traces, metrics and the page show it.
const WarmUp = " warm-up"

// Named is a journal that changes the name in the supersteps, the beginning and the end of a run.
// It forwards all other events unchanged.
type Named struct {
	To   Journal
	Name string
	// About, if not nil, is called with the beginning, and may add to it.
	About func(j *Job)
	// Before is the run's time in seconds before the checkpoint that it continues from.
	Before float64
}

// Record forwards an event.
func (n *Named) Record(e Event) error {
	switch e := e.(type) {
	case *record.Superstep:
		e.Job = n.Name
	case *Job:
		e.Job = n.Name
		if n.About != nil {
			n.About(e)
		}
	case *End:
		e.Job = n.Name
		e.Seconds += n.Before
	}
	return n.To.Record(e)
}
