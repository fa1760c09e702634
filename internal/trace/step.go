package trace

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/superstep-go/superstep/record"
)

// Step is a superstep, summed over all partitions, in the form of the page's API.
type Step struct {
	Superstep int    `json:"superstep"`
	Phase     int    `json:"phase,omitempty"` // see Superstep, also for Program
	Program   string `json:"program,omitempty"`
	Scheme    string `json:"scheme"`
	Delivery  string `json:"delivery"`
	Reason    string `json:"reason"`
	// Predicted and Actual are the seconds of delivery, see Superstep.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Actual    float64            `json:"actual,omitempty"`

	Active    int `json:"active"`    // vertices that ran
	Senders   int `json:"senders"`   // vertices whose messages to all neighbours were delivered
	Receivers int `json:"receivers"` // vertices that got a message
	Edges     int `json:"edges"`     // walked
	Messages  int `json:"messages"`
	Sent      int `json:"messages_sent"`
	Bytes     int `json:"bytes"`

	// Requests to change the graph, applied before the next superstep.
	Requests int               `json:"requests,omitempty"`
	Graph    *record.GraphSize `json:"graph,omitempty"` // see Superstep, also for Aggregators

	Aggregators []record.Aggregator `json:"aggregators,omitempty"`

	// Times are the means over the partitions, so that they add up to Total.
	Times      record.Seconds `json:"seconds"`
	Busy       Spread         `json:"busy"`
	Partitions int            `json:"partitions"`
	Memory     int64          `json:"memory,omitempty"` // of all processes
	GCPause    float64        `json:"gc_pause"`         // of the process with the longest pause

	Longest [len(record.Phases)]Longest `json:"-"`
	Ended   time.Time                   `json:"-"`

	processes []process // reused by Sum
}

// Spread describes how the partitions' working times in a superstep differ.
type Spread struct {
	Least   float64 `json:"least"`
	Mean    float64 `json:"mean"`
	Most    float64 `json:"most"`
	Slowest int     `json:"slowest"` // the partition with the longest working time
}

// Ratio returns the slowest partition's time divided by the mean: 1 is even.
func (s Spread) Ratio() float64 {
	if s.Mean <= 0 {
		return 1
	}
	return s.Most / s.Mean
}

// Longest is the partition with the longest time in a phase.
type Longest struct {
	Seconds   float64
	Partition int
}

type process struct {
	name   string
	memory int64
}

// Sum sets s to the sums over the partitions of a superstep. It allocates nothing if s is reused.
func (s *Step) Sum(from *record.Superstep) {
	processes := s.processes[:0]
	*s = Step{
		Superstep: from.Superstep, Phase: from.Phase, Program: from.Program, Scheme: from.Scheme,
		Delivery: from.Delivery, Reason: from.Reason, Predicted: from.Predicted,
		Actual: from.Actual, Ended: from.Ended, Graph: from.Graph, Aggregators: from.Aggregators,
		Partitions: len(from.Partitions),
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
		// Partitions of one process are mostly consecutive, or there are few processes.
		at, known := slices.BinarySearchFunc(processes, p.Worker,
			func(q process, name string) int { return cmp.Compare(q.name, name) })
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

// times adds the times of a partition to the means of n others.
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

// Clone returns a deep copy of s, but for Predicted, which is shared.
func (s *Step) Clone() *Step {
	c := *s
	c.processes, c.Aggregators = nil, slices.Clone(s.Aggregators)
	return &c
}

// Regret returns the seconds that the best scheme that was not chosen would have saved, if its
// prediction is right; 0 if the choice was the best. If delivery took more than disturbed times the
// prediction, the machine did other work, or the model is wrong about it: then the other scheme is
// assumed to be slower by the same factor.
func (s *Step) Regret() float64 {
	best := math.Inf(1)
	for scheme, seconds := range s.Predicted {
		if scheme != s.Scheme {
			best = min(best, seconds)
		}
	}
	if guess := s.Predicted[s.Scheme]; guess > 0 && s.Actual > disturbed*guess {
		best *= s.Actual / guess
	}
	return max(0, s.Actual-best)
}

// disturbed is the greatest ratio of a superstep's time to its prediction for which the predictions
// of other schemes are used unchanged. Above it a wrong model cannot be distinguished from a
// machine that does other work. If it happens often, the summary's Error shows it.
const disturbed = 2
