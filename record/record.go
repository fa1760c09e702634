// Package record has what happened in a run: for each superstep, how messages were delivered and
// why, and what each partition did. Result.Trace, the lines of a trace, the page's API, the metrics
// and the spans are all made of it, so that their numbers agree. Superstep is the type to read
// first.
package record

import (
	"slices"
	"time"
)

// Superstep is what happened in a superstep of a run. In the last one of a run it may be that no
// vertex runs: it delivers messages to nobody. Its time and its bytes count, but it is not counted
// as a superstep, nor as a push or a pull.
type Superstep struct {
	// the program's name; on a cluster the job, of graph500 the kernel and its root
	Job       string `json:"job"`
	Superstep int    `json:"superstep"` // from 0
	// of a plan, from 1 in the order in which phases ran; the planned program is the last
	Phase   int    `json:"phase,omitempty"`
	Program string `json:"program,omitempty"` // of that phase
	// none, naive, mirrored, pull; in a grid with both sides above 1 none, push, ring, pull
	Scheme   string `json:"scheme"`
	Delivery string `json:"delivery"` // none, push, pull
	Reason   string `json:"reason"`   // why this scheme was chosen
	// Predicted is shared between copies: it does not change any more.
	// seconds of delivery by scheme, as the model guesses them
	Predicted map[string]float64 `json:"predicted,omitempty"`
	// seconds that delivery took: the superstep's without the program's own
	Actual     float64     `json:"actual,omitempty"`
	Seconds    float64     `json:"seconds"`         // by the wall clock
	Graph      *GraphSize  `json:"graph,omitempty"` // after a superstep that changed it
	Ended      time.Time   `json:"ended,omitzero"`  // when the superstep ended
	Partitions []Partition `json:"partitions"`      // in rising order
}

// GraphSize is how large a graph is that a program changes.
type GraphSize struct {
	Vertices uint64 `json:"vertices"` // without those that were removed
	Arcs     uint64 `json:"arcs"`     // stored: an undirected edge is two
}

// Partition is what one partition did in a superstep.
type Partition struct {
	Partition int    `json:"partition"`        // from 0
	Worker    string `json:"worker,omitempty"` // that has the partition, on a cluster
	Computed  int    `json:"active"`           // vertices that ran
	// vertices whose messages to all neighbours this superstep delivered
	Delivered int `json:"senders"`
	Receivers int `json:"receivers"` // vertices that got a message
	Walked    int `json:"edges"`     // walked to deliver these messages
	// sent in this superstep for the next, before combining: sender x out-edge, and Send calls
	Messages int `json:"messages"`
	Sent     int `json:"messages_sent"` // values that went to other partitions
	Bytes    int `json:"bytes"`         // of these, with their presence
	// for changes of the graph, which the next superstep makes
	Requests int `json:"requests,omitempty"`

	Times Seconds `json:"seconds"`         // by phase
	Peers []Peer  `json:"peers,omitempty"` // what went to each other partition
	// what went to all others together, on a cluster with more than 64 partitions
	Sums []Sum `json:"sums,omitempty"`

	// resident bytes of the process after the superstep, measured twice a second at most
	Memory int64 `json:"memory,omitempty"`
	// seconds for which the garbage collector stopped the process
	GCPause float64 `json:"gc_pause"`
}

// End notes that the superstep took so many seconds.
func (s *Superstep) End(seconds float64) {
	s.Seconds = seconds
	for i := range s.Partitions {
		s.Partitions[i].Times.End(seconds)
	}
}

// Ran reports whether a vertex ran: else the superstep is not counted.
func (s *Superstep) Ran() bool {
	return slices.ContainsFunc(s.Partitions, func(p Partition) bool { return p.Computed > 0 })
}

// Clone returns a copy that shares nothing but Predicted with s.
func (s *Superstep) Clone() *Superstep {
	c := *s
	c.Partitions = slices.Clone(s.Partitions)
	if s.Graph != nil {
		size := *s.Graph
		c.Graph = &size
	}
	for i := range c.Partitions {
		p := &c.Partitions[i]
		p.Peers, p.Sums = slices.Clone(p.Peers), slices.Clone(p.Sums)
	}
	return &c
}

// Seconds is the time of each phase. What they lack of Total went into hooks, aggregators and the
// coordinator.
type Seconds struct {
	Expand float64 `json:"expand"` // senders' values to the partitions that walk their edges
	// with compute, where the two are one loop, but for list programs
	Traverse float64 `json:"traverse"`
	Fold     float64 `json:"fold"`    // combined messages to the partitions of their receivers
	Compute  float64 `json:"compute"` // the program
	// Wait is for others: for their frames, for a processor while other partitions have it, and for
	// the slowest.
	Wait float64 `json:"wait"`
	// Total is the superstep's time, the same for all partitions once the superstep has ended;
	// before, the partition's own.
	Total float64 `json:"total"`
}

// Phases are the names of a superstep's phases, in the order of Seconds.
var Phases = [...]string{"expand", "traverse", "fold", "compute", "wait"}

// ByPhase returns the seconds of each phase, in the order of Phases.
func (s *Seconds) ByPhase() [len(Phases)]float64 {
	return [...]float64{s.Expand, s.Traverse, s.Fold, s.Compute, s.Wait}
}

// Busy returns the time the partition worked.
func (s *Seconds) Busy() float64 { return s.Expand + s.Traverse + s.Fold + s.Compute }

// End notes that the superstep took so many seconds: a partition that was done earlier has waited
// for the others.
func (s *Seconds) End(seconds float64) {
	s.Wait += max(0, seconds-s.Total)
	s.Total = seconds
}

// Add adds the seconds of o.
func (s *Seconds) Add(o *Seconds) {
	s.Expand += o.Expand
	s.Traverse += o.Traverse
	s.Fold += o.Fold
	s.Compute += o.Compute
	s.Wait += o.Wait
	s.Total += o.Total
}

// Add adds what the partition did in another superstep; worker and memory are those of then.
func (p *Partition) Add(o *Partition) {
	p.Worker, p.Memory = o.Worker, o.Memory
	p.Computed += o.Computed
	p.Delivered += o.Delivered
	p.Receivers += o.Receivers
	p.Walked += o.Walked
	p.Messages += o.Messages
	p.Sent += o.Sent
	p.Bytes += o.Bytes
	p.Requests += o.Requests
	p.GCPause += o.GCPause
	p.Times.Add(&o.Times)
}

// Peer is what was sent to one other partition.
type Peer struct {
	Partition int    `json:"partition"` // that got it
	Exchange  string `json:"exchange"`  // expand, fold, sends and others
	Encoding  string `json:"encoding"`  // all, bitmap, sparse, pairs; bytes of changes
	Messages  int    `json:"messages"`
	Bytes     int    `json:"bytes"`
}

// Sum is what was sent to all other partitions in an exchange and an encoding.
type Sum struct {
	Exchange string `json:"exchange"`
	Encoding string `json:"encoding"`
	Columns  int    `json:"columns"` // as many peers
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
}

// AddSum adds a sum to the one of its exchange and encoding.
func AddSum(all []Sum, s Sum) []Sum {
	i := slices.IndexFunc(all, func(o Sum) bool { return o.Exchange == s.Exchange && o.Encoding == s.Encoding })
	if i < 0 {
		return append(all, s)
	}
	o := &all[i]
	o.Columns, o.Messages, o.Bytes = o.Columns+s.Columns, o.Messages+s.Messages, o.Bytes+s.Bytes
	return all
}

// Sum returns what was sent to one other partition as a sum.
func (p *Peer) Sum() Sum {
	return Sum{Exchange: p.Exchange, Encoding: p.Encoding, Columns: 1, Messages: p.Messages, Bytes: p.Bytes}
}
