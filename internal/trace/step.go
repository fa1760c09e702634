package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/superstep-go/superstep/record"
)

// Step is a superstep of all partitions together, as the page's API has it.
type Step struct {
	Superstep int    `json:"superstep"`
	Phase     int    `json:"phase,omitempty"` // and Program, as Superstep has them
	Program   string `json:"program,omitempty"`
	Scheme    string `json:"scheme"`
	Delivery  string `json:"delivery"`
	Reason    string `json:"reason"`
	// Predicted and Actual are the seconds of delivery, as Superstep has them.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Actual    float64            `json:"actual,omitempty"`

	Active    int `json:"active"`    // vertices that ran
	Senders   int `json:"senders"`   // whose messages to all neighbours were delivered
	Receivers int `json:"receivers"` // vertices that got a message
	Edges     int `json:"edges"`     // walked
	Messages  int `json:"messages"`
	Sent      int `json:"messages_sent"`
	Bytes     int `json:"bytes"`

	// For changes of the graph, which the next superstep makes.
	Requests int               `json:"requests,omitempty"`
	Graph    *record.GraphSize `json:"graph,omitempty"` // as Superstep has it

	// Times are the means over the partitions, so that they add up to Total.
	Times      record.Seconds `json:"seconds"`
	Busy       Spread         `json:"busy"`
	Partitions int            `json:"partitions"`
	Memory     int64          `json:"memory,omitempty"` // of all processes
	GCPause    float64        `json:"gc_pause"`         // of the process it was longest in

	Longest [len(record.Phases)]Longest `json:"-"`
	Ended   time.Time                   `json:"-"`

	processes []process // used again by Sum
}

// Spread is how the partitions' time at work in a superstep differs.
type Spread struct {
	Least   float64 `json:"least"`
	Mean    float64 `json:"mean"`
	Most    float64 `json:"most"`
	Slowest int     `json:"slowest"` // the partition that worked longest
}

// Ratio is the slowest partition's time over the mean: 1 is even.
func (s Spread) Ratio() float64 {
	if s.Mean <= 0 {
		return 1
	}
	return s.Most / s.Mean
}

// Longest is the partition that took longest in a phase.
type Longest struct {
	Seconds   float64
	Partition int
}

type process struct {
	name   string
	memory int64
}

// Sum adds up what the partitions of a superstep did. It replaces all of s, and makes no garbage
// when s is used again.
func (s *Step) Sum(from *record.Superstep) {
	processes := s.processes[:0]
	*s = Step{
		Superstep: from.Superstep, Phase: from.Phase, Program: from.Program, Scheme: from.Scheme,
		Delivery: from.Delivery, Reason: from.Reason, Predicted: from.Predicted,
		Actual: from.Actual,
		Ended:  from.Ended, Graph: from.Graph, Partitions: len(from.Partitions),
	}
	for i := range from.Partitions {
		p := &from.Partitions[i]
		s.Active += p.Computed
		s.Senders += p.Delivered
		s.Receivers += p.Receivers
		s.Edges += p.Walked
		s.Messages += p.Messages
		s.Sent += p.Sent
		s.Bytes += p.Bytes
		s.Requests += p.Requests
		s.GCPause = max(s.GCPause, p.GCPause)
		s.times(i, p)
		// Partitions of one process mostly follow one another, or there are few processes.
		at, known := slices.BinarySearchFunc(processes, p.Worker, func(q process, name string) int { return cmp.Compare(q.name, name) })
		if !known {
			processes = slices.Insert(processes, at, process{name: p.Worker})
		}
		processes[at].memory = max(processes[at].memory, p.Memory)
	}
	for _, p := range processes {
		s.Memory += p.memory
	}
	s.processes = processes
}

// times takes in the times of a partition, after those of n others.
func (s *Step) times(n int, p *record.Partition) {
	mean := func(to *float64, x float64) { *to += (x - *to) / float64(n+1) }
	t := &s.Times
	t.Total = max(t.Total, p.Times.Total)
	busy := p.Times.Busy()
	if n == 0 || busy < s.Busy.Least {
		s.Busy.Least = busy
	}
	if n == 0 || busy > s.Busy.Most {
		s.Busy.Most, s.Busy.Slowest = busy, p.Partition
	}
	mean(&s.Busy.Mean, busy)
	means := [...]*float64{&t.Expand, &t.Traverse, &t.Fold, &t.Compute, &t.Wait}
	for i, seconds := range p.Times.ByPhase() {
		mean(means[i], seconds)
		if l := &s.Longest[i]; seconds > l.Seconds {
			*l = Longest{seconds, p.Partition}
		}
	}
}

// Clone returns a copy that shares nothing but Predicted with s.
func (s *Step) Clone() *Step {
	c := *s
	c.processes = nil
	return &c
}

// Regret is how many seconds would have been saved by the scheme that is predicted to be the
// fastest of those not chosen, if that prediction is right; 0 where the choice was the best. Where
// delivery took more than disturbed times what was predicted, the machine did other work, or the
// model is wrong about it: the other scheme is taken to be slower by the same factor.
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

// disturbed is how many times its prediction a superstep takes at most for which the other schemes'
// predictions hold as they are. Beyond it one cannot tell a wrong model from a machine that does
// other work; if it happens often, the summary's Error shows it.
const disturbed = 2
