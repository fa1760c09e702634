// Package history gathers the records of runs into what people look at: a row for each superstep, totals by partition and
// by pair, a summary in words. The terminal, the API and the page show the same.
package history

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
)

// Step is a superstep of all partitions together.
type Step struct {
	Superstep int    `json:"superstep"`
	Scheme    string `json:"scheme"`
	Delivery  string `json:"delivery"`
	Reason    string `json:"reason"`
	// Predicted and Actual are the seconds of delivery, as trace.Record has them.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Actual    float64            `json:"actual,omitempty"`

	Active    int `json:"active"`
	Senders   int `json:"senders"`
	Receivers int `json:"receivers"`
	Edges     int `json:"edges"`
	Messages  int `json:"messages"`
	Sent      int `json:"messages_sent"`
	Bytes     int `json:"bytes"`

	// Times are the means over the partitions, so that they add up to Total.
	Times      trace.Seconds `json:"seconds"`
	Busy       Spread        `json:"busy"`
	Partitions int           `json:"partitions"`
	Memory     int64         `json:"memory,omitempty"` // of all processes
	GCPause    float64       `json:"gc_pause"`         // of the process it was longest in
}

// Spread is how the partitions' time at work in a superstep differs.
type Spread struct {
	Least   float64 `json:"least"`
	Mean    float64 `json:"mean"`
	Most    float64 `json:"most"`
	Slowest int     `json:"slowest"` // the partition that worked longest
}

// Ratio is the slowest partition's time over the mean.
func (s Spread) Ratio() float64 {
	if s.Mean <= 0 {
		return 1
	}
	return s.Most / s.Mean
}

// Regret is how many seconds would have been saved by the scheme that is predicted to be the fastest of those not chosen,
// if that prediction is right; 0 where the choice was the best. Where delivery took more than disturbed times what was
// predicted, the machine did other work, or the model is wrong about it: the other scheme is taken to be slower by the same factor.
func (s *Step) Regret() float64 {
	best, found := 0.0, false
	for scheme, seconds := range s.Predicted {
		if scheme != s.Scheme && (!found || seconds < best) {
			best, found = seconds, true
		}
	}
	if !found {
		return 0
	}
	if guess := s.Predicted[s.Scheme]; guess > 0 && s.Actual > disturbed*guess {
		best *= s.Actual / guess
	}
	return max(0, s.Actual-best)
}

// disturbed is how many times its prediction a superstep takes at most for which the other schemes' predictions hold as they are.
// Beyond it one cannot tell a wrong model from a machine that does other work; if it happens often, Summary.Error shows it.
const disturbed = 2

// gather makes a Step of the records of a superstep.
type gather struct {
	step      Step
	busy      float64
	processes []process
	open      bool
}

type process struct {
	name   string
	memory int64
}

// begin starts anew with the superstep of r.
func (g *gather) begin(r *trace.Record) {
	g.step = Step{
		Superstep: r.Superstep, Scheme: r.Scheme, Delivery: r.Delivery, Reason: r.Reason, Predicted: r.Predicted, Actual: r.Actual,
	}
	g.busy, g.processes, g.open = 0, g.processes[:0], true
}

// add takes a record of the superstep in.
func (g *gather) add(r *trace.Record) {
	s, n := &g.step, float64(g.step.Partitions)
	s.Active += r.Active
	s.Senders += r.Senders
	s.Receivers += r.Receivers
	s.Edges += r.Edges
	s.Messages += r.Messages
	s.Sent += r.Sent
	s.Bytes += r.Bytes()
	mean := func(to *float64, x float64) { *to += (x - *to) / (n + 1) }
	t := &s.Times
	mean(&t.Expand, r.Times.Expand)
	mean(&t.Traverse, r.Times.Traverse)
	mean(&t.Fold, r.Times.Fold)
	mean(&t.Compute, r.Times.Compute)
	mean(&t.Wait, r.Times.Wait)
	t.Total = max(t.Total, r.Times.Total)
	busy := r.Times.Busy()
	if n == 0 || busy < s.Busy.Least {
		s.Busy.Least = busy
	}
	if n == 0 || busy > s.Busy.Most {
		s.Busy.Most, s.Busy.Slowest = busy, r.Partition
	}
	mean(&s.Busy.Mean, busy)
	s.Partitions++
	s.GCPause = max(s.GCPause, r.GCPause)
	i, known := slices.BinarySearchFunc(g.processes, r.Worker, func(p process, name string) int { return cmp.Compare(p.name, name) })
	if !known {
		g.processes = slices.Insert(g.processes, i, process{name: r.Worker})
	}
	g.processes[i].memory = max(g.processes[i].memory, r.Memory)
}

// close ends the superstep. The Step is valid until the next begin.
func (g *gather) close() *Step {
	g.open = false
	for _, p := range g.processes {
		g.step.Memory += p.memory
	}
	return &g.step
}
