package trace

import "github.com/superstep-go/superstep/record"

// WarmUp ends the name of a search that only warms up. The summaries of reports leave it out; traces,
// metrics and the page have it.
const WarmUp = " warm-up"

// Named is a Journal that passes the supersteps, the beginning and the end of a run on under
// another name, and all else as it is.
type Named struct {
	To   Journal
	Name string
	// About, if not nil, is told what begins, and may add to it.
	About func(j *Job)
	// Before is how many seconds the run took before the checkpoint that it goes on from.
	Before float64
}

// Record passes an event on.
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
