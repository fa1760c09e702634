package nas

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/lab/experiment"
	"github.com/superstep-go/superstep/record"
)

// stepParts has the parts of a superstep in seconds, from its record. Work is that of the partition
// that worked longest, and Exchange the mean time of sending and receiving. The rest is waiting.
type stepParts struct{ Seconds, Work, Exchange float64 }

func (x stepParts) waiting() float64 { return x.Seconds - x.Work - x.Exchange }

func partsOf(s *record.Superstep) (x stepParts) {
	x.Seconds = s.Seconds
	for i := range s.Partitions {
		t := &s.Partitions[i].Times
		x.Exchange += (t.Expand + t.Fold) / float64(len(s.Partitions))
		x.Work = max(x.Work, t.Traverse+t.Compute)
	}
	return x
}

// partsOfSteps returns the mean parts of the fastest fifth of the chosen supersteps. The median of
// these is the first decile of all.
func partsOfSteps(trace []record.Superstep, chosen func(k int) bool) (m stepParts) {
	var steps []stepParts
	for i := range trace {
		if chosen(trace[i].Superstep) {
			steps = append(steps, partsOf(&trace[i]))
		}
	}
	slices.SortFunc(steps, func(a, b stepParts) int { return cmp.Compare(a.Seconds, b.Seconds) })
	steps = steps[:(len(steps)+4)/5]
	for _, s := range steps {
		n := float64(len(steps))
		m.Seconds += s.Seconds / n
		m.Work += s.Work / n
		m.Exchange += s.Exchange / n
	}
	return m
}

// ofIteration reports whether iterationTime counts superstep k. The odd ones multiply, and the even
// ones update the vectors.
func ofIteration(k int) bool {
	step := k % period
	return k >= period && step > 2 && step < lastUpdate-1
}

func partsTable() *experiment.Table {
	t := &experiment.Table{Name: "parts", Columns: []experiment.Column{
		{Name: "workers", Meaning: "P, processes on this machine"},
	}}
	for _, x := range [][2]string{
		{"product", "a superstep with SpMV, two AXPYs and a dot product"},
		{"work", "in it, of the slowest worker"},
		{"exchange", "packing, sending and unpacking, mean of the workers"},
		{"waiting", "the rest"},
		{"update", "a superstep with two AXPYs and a dot product"},
		{"work", "in it, of the slowest worker"},
		{"waiting", "the rest"},
	} {
		t.Columns = append(t.Columns, experiment.Column{Name: x[0], Unit: experiment.Seconds, Meaning: x[1]})
	}
	return t
}

// addParts adds the parts of an iteration in a run of CG.
func addParts(t *experiment.Table, p int, trace []record.Superstep) {
	a := partsOfSteps(trace, func(k int) bool { return ofIteration(k) && k%period%2 == 1 })
	b := partsOfSteps(trace, func(k int) bool { return ofIteration(k) && k%period%2 == 0 })
	t.Rows = append(t.Rows, []any{
		p, a.Seconds, a.Work, a.Exchange, a.waiting(), b.Seconds, b.Work, b.waiting(),
	})
}
