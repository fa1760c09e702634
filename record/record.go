// Package record has the measurements of a run: for each superstep how its messages were delivered
// and why, and the work and times of each partition. Result.Trace, the lines of a trace, the page's
// API, the metrics and the spans are all made from these records, so their numbers agree. Read the
// type Superstep first.
package record

import (
	"slices"
	"time"
)

// Superstep is the record of one superstep. It may be that no vertex ran in the last one of a run:
// the engine then only found that no message has a receiver. Its time and bytes count, but it does
// not count as a superstep, a push or a pull.
type Superstep struct {
	// the program's name; on a cluster the job; for graph500 the kernel and its root
	Job       string `json:"job"`
	Superstep int    `json:"superstep"` // from 0
	// the phase of a plan, from 1 in the order of execution; the planned program is the last one
	Phase   int    `json:"phase,omitempty"`
	Program string `json:"program,omitempty"` // the phase's program
	// none, naive, mirrored, lalp, pull; or, in a grid with both sides above 1, none, push, ring, pull
	Scheme   string `json:"scheme"`
	Delivery string `json:"delivery"` // none, push, pull
	Reason   string `json:"reason"`   // why this scheme was chosen
	// Predicted is the model's prediction of the seconds of delivery, by scheme. Copies of a record
	// share it, so it must not be changed.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	// measured seconds of delivery: the superstep's time without the program's
	Actual  float64    `json:"actual,omitempty"`
	Seconds float64    `json:"seconds"`         // wall-clock time
	Graph   *GraphSize `json:"graph,omitempty"` // after a superstep that changed it
	Ended   time.Time  `json:"ended,omitzero"`  // when the superstep ended
	// the program's aggregators whose type is float64, int64, int or int32, with finite values,
	// without those that reports omit or that have names of over 64 bytes; at most 8
	Aggregators []Aggregator `json:"aggregators,omitempty"`
	Partitions  []Partition  `json:"partitions"` // ordered by partition
}

// Bounds of the aggregators in the record of a superstep: their number, and the bytes of a name.
const (
	MaxAggregators    = 8
	MaxAggregatorName = 64
)

// Aggregator is the value of an aggregator after a superstep, and after the program's Coordinate.
type Aggregator struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// GraphSize is the size of a graph that a program changes.
type GraphSize struct {
	Vertices uint64 `json:"vertices"` // without removed vertices
	Arcs     uint64 `json:"arcs"`     // stored arcs: an undirected edge is two
}

// Partition is the record of one partition in a superstep.
type Partition struct {
	Partition int    `json:"partition"`        // from 0
	Worker    string `json:"worker,omitempty"` // the partition's worker, on a cluster
	Computed  int    `json:"active"`           // vertices that ran
	// the number of vertices whose messages to all neighbours were delivered in this superstep
	Delivered int `json:"senders"`
	Receivers int `json:"receivers"` // vertices that got a message
	Walked    int `json:"edges"`     // edges walked to deliver these messages
	// messages sent in this superstep, before combining: one per sender and out-edge, and per Send
	Messages int `json:"messages"`
	Sent     int `json:"messages_sent"` // values sent to other partitions
	Bytes    int `json:"bytes"`         // bytes of these values and their presence
	// requests to change the graph, to be applied before the next superstep
	Requests int `json:"requests,omitempty"`

	Times Seconds `json:"seconds"`         // by phase
	Peers []Peer  `json:"peers,omitempty"` // messages sent to each other partition
	// the sums over all other partitions, on a cluster with more than 64 partitions
	Sums []Sum `json:"sums,omitempty"`

	// resident bytes of the process after the superstep, measured at most twice a second
	Memory int64 `json:"memory,omitempty"`
	// seconds for which the garbage collector stopped the process
	GCPause float64 `json:"gc_pause"`
}

// End sets the time of the superstep.
func (s *Superstep) End(seconds float64) {
	s.Seconds = seconds
	for i := range s.Partitions {
		s.Partitions[i].Times.End(seconds)
	}
}

// Ran reports whether any vertex ran. If not, the superstep is not counted.
func (s *Superstep) Ran() bool {
	return slices.ContainsFunc(s.Partitions, func(p Partition) bool { return p.Computed > 0 })
}

// Clone returns a deep copy of s, but for Predicted, which is shared.
func (s *Superstep) Clone() *Superstep {
	c := *s
	c.Partitions, c.Aggregators = slices.Clone(s.Partitions), slices.Clone(s.Aggregators)
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

// Seconds is the time of each phase. The rest of Total went into hooks, aggregators and the
// coordinator.
type Seconds struct {
	Expand float64 `json:"expand"` // sending the messages of senders to other partitions
	// walking edges; includes compute if one loop does both, except in list programs
	Traverse float64 `json:"traverse"`
	Fold     float64 `json:"fold"`    // sending combined messages to the owners of their receivers
	Compute  float64 `json:"compute"` // running the program
	// Wait is the time of waiting: for other partitions' frames, for a processor that runs other
	// partitions, and for the slowest partition.
	Wait float64 `json:"wait"`
	// Total is the superstep's time. It is the same for all partitions once the superstep has
	// ended, and the partition's own time before.
	Total float64 `json:"total"`
}

// Phases are the names of a superstep's phases, in the order of Seconds.
var Phases = [...]string{"expand", "traverse", "fold", "compute", "wait"}

// ByPhase returns the seconds of each phase, in the order of Phases.
func (s *Seconds) ByPhase() [len(Phases)]float64 {
	return [...]float64{s.Expand, s.Traverse, s.Fold, s.Compute, s.Wait}
}

// Busy returns the time in which the partition worked.
func (s *Seconds) Busy() float64 { return s.Expand + s.Traverse + s.Fold + s.Compute }

// End sets the superstep's time, and adds the time after the partition's own end to Wait.
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

// Add adds the work of the same partition in another superstep o. Worker and Memory become those of
// o.
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

// Peer has the messages that a partition sent to one other partition.
type Peer struct {
	Partition int    `json:"partition"` // the receiver
	Exchange  string `json:"exchange"`  // expand, fold, sends and others
	Encoding  string `json:"encoding"`  // all, bitmap, sparse, pairs; bytes for changes
	Messages  int    `json:"messages"`
	Bytes     int    `json:"bytes"`
}

// Sum is the total of the messages to all other partitions, for one exchange and encoding.
type Sum struct {
	Exchange string `json:"exchange"`
	Encoding string `json:"encoding"`
	Columns  int    `json:"columns"` // the number of peers
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
}

// AddSum adds a sum to the element of all with its exchange and encoding, or appends it.
func AddSum(all []Sum, s Sum) []Sum {
	i := slices.IndexFunc(all,
		func(o Sum) bool { return o.Exchange == s.Exchange && o.Encoding == s.Encoding })
	if i < 0 {
		return append(all, s)
	}
	o := &all[i]
	o.Columns, o.Messages, o.Bytes = o.Columns+s.Columns, o.Messages+s.Messages, o.Bytes+s.Bytes
	return all
}

// Sum returns the messages to one other partition as a Sum.
func (p *Peer) Sum() Sum { return Sum{p.Exchange, p.Encoding, 1, p.Messages, p.Bytes} }
