package trace

import "github.com/superstep-go/superstep/record"

// WarmUp ends the name of a run that only warms up, and does not count.
const WarmUp = " warm-up"

// Named is a Journal that passes everything on under another name of the run. To may be a mere Sink, which gets the
// records alone.
type Named struct {
	To   Sink
	Name string
	// About, if not nil, is told what begins, and may add to it.
	About func(j *Job)
	// Before is how many seconds the run took before the checkpoint that it goes on from.
	Before float64
}

func (n *Named) journal(f func(Journal) error) error {
	if to, ok := n.To.(Journal); ok {
		return f(to)
	}
	return nil
}

// Record passes a superstep on.
func (n *Named) Record(s *record.Superstep) error {
	s.Job = n.Name
	return n.To.Record(s)
}

func (n *Named) Begin(j *Job) error {
	j.Job = n.Name
	if n.About != nil {
		n.About(j)
	}
	return n.journal(func(to Journal) error { return to.Begin(j) })
}

func (n *Named) End(e *End) error {
	e.Job = n.Name
	e.Seconds += n.Before
	return n.journal(func(to Journal) error { return to.End(e) })
}

func (n *Named) Stage(s *Stage) error {
	return n.journal(func(to Journal) error { return to.Stage(s) })
}

func (n *Named) Log(l *Log) error { return n.journal(func(to Journal) error { return to.Log(l) }) }
