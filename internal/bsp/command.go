package bsp

import (
	"cmp"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/record"
)

// Facts are the facts about a process's partitions that a driver needs before the first superstep.
type Facts struct {
	Partitions int    // in the whole graph
	Edges      uint64 // in the whole graph
	// The whole graph as it was loaded.
	LoadedVertices, LoadedArcs uint64
	// number of ids of these partitions without a vertex: removed, or not added yet
	Absent  int  `json:",omitempty"`
	Ordered bool // the result depends on the order of messages
	// at the end of a run there is a Summary
	Summary bool `json:",omitempty"`
	// groups of the summary are named by vertices
	GroupVertices bool `json:",omitempty"`

	Load delivery.Load // of these partitions; its Vertices are those of the whole graph
	// Ways has two more loads for a program of direction Either: messages to out-neighbours only,
	// and to in-neighbours only.
	Ways  []delivery.Load `json:",omitempty"`
	Rates delivery.Rates
	// Standing is the state of these partitions, if they continue from a checkpoint.
	Standing *Standing `json:",omitempty"`
}

// Standing has the counts of partitions that continue from a checkpoint, as reports have them after
// a superstep.
type Standing struct {
	Superstep int // the next superstep
	Counts
	Requests int
	Print    uint64 // see checkpoint.Graph
	// the whole graph, as the program sees it
	Vertices uint64
	forked   string // see Outcome.Forked
}

// Add adds the counts of other partitions.
func (s *Standing) Add(o *Standing) {
	s.Counts.add(&o.Counts)
	s.Requests += o.Requests
	s.Print += o.Print
}

// Counts has the counts after a superstep that carry over to the next one.
type Counts struct {
	// Messages for the next superstep: the senders to all neighbours, their edges, and the messages
	// to single vertices.
	Senders, SenderEdges, Sends int
	// The awake vertices, the unfinished vertices, and their in-edges.
	Active, Unfinished, UnfinishedEdges int
	// The part of Senders and SenderEdges for in-neighbours, in a program of direction Either.
	BackSenders, BackEdges int
}

func (c *Counts) add(o *Counts) {
	c.Senders += o.Senders
	c.SenderEdges += o.SenderEdges
	c.Sends += o.Sends
	c.Active += o.Active
	c.Unfinished += o.Unfinished
	c.UnfinishedEdges += o.UnfinishedEdges
	c.BackSenders += o.BackSenders
	c.BackEdges += o.BackEdges
}

// Command is the coordinator's command to every partition for one superstep.
type Command struct {
	Superstep, Phase int
	// Scheme delivers the last superstep's messages to all neighbours. Sends: there are also
	// messages to single vertices.
	Scheme delivery.Scheme
	Sends  bool
	// Hubs is the number of words of each partition that have the hubs of the scheme Lalp.
	Hubs int
	// Took is the time in seconds of the superstep before this command, for the counters of
	// workers.
	Took float64
	// Change: vertices requested changes of the graph in the last superstep. Partitions apply them
	// between delivery and compute, or at the end of the run.
	Change bool
	// Finished: some vertices are finished.
	Finished bool
	// SenderEdges is the number of edges with a message to all neighbours, in all partitions.
	SenderEdges int
	// Ways has a bit for each direction in which a program of direction Either has sent messages to
	// all neighbours: 1 for out, 2 for in.
	Ways   uint8
	Totals []kernel.Cell `msgpack:"-"`
	// Save, if not 0, makes partitions save the state before the superstep, for a checkpoint. It is
	// the superstep's number in the run, including earlier phases.
	Save int
	// Flush makes partitions report when their saved parts are stored.
	Flush bool
	// Ended means that there is no superstep: the program has ended. Partitions apply the changes
	// of the last superstep if Change is set, else they report a Summary of their values.
	Ended bool
}

// Report is a partition's report of a superstep: the trace record, and the counts that only the
// driver needs.
type Report struct {
	record.Partition `msgpack:"record"` // its field Partition would have the same name
	Counts
	// PullEdges is the approximate number of edges that a pull of these messages would look at, if
	// it is known and less than UnfinishedEdges; else 0.
	PullEdges int
	// PushEdges is the approximate number of edges that a push of these messages would walk, if
	// lists have been thinned; else 0.
	PushEdges int

	Err error `msgpack:"-"`
	// Account has the numbers sent to and received from each other partition; nil with a single
	// partition.
	Account *transport.Account
	// Cells are this superstep's aggregates. The driver resets them after merging. They are sent
	// separately.
	Cells []kernel.Cell `msgpack:"-"`
	// Aside is the time in seconds spent on data structures that only later deliveries use.
	Aside float64
	// Created is the number of vertices that messages have created.
	Created int
	// Changed describes the graph after this superstep's changes; nil if there were none.
	Changed *Changed
	// Summary is the reply to Command.Ended.
	Summary *trace.Summary
	// Stored has the results of storing parts of checkpoints, since the last report of any of the
	// process's partitions.
	Stored []checkpoint.Stored
}

// Changed describes a graph that the program has changed: the counts of the whole graph (IDs
// includes ids without a vertex), and the partition's part of the loads (see Facts).
type Changed struct {
	IDs, Vertices, Edges uint64

	Load delivery.Load
	Ways []delivery.Load `json:",omitempty"`
}

// Begin clears all fields except those that carry over to the next superstep.
func (p *Report) Begin() {
	*p = Report{
		Partition: record.Partition{Partition: p.Partition.Partition},
		Counts: Counts{
			Active: p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges,
		},
	}
}

// Then returns the outcome of o followed by next.
func (o Outcome) Then(next Outcome) Outcome {
	next.Supersteps += o.Supersteps
	next.Messages += o.Messages
	next.Sent += o.Sent
	next.Bytes += o.Bytes
	if o.Ended != "" && !o.Ended.Complete() { // next did not run
		next.Ended = o.Ended
	}
	next.Forked = cmp.Or(next.Forked, o.Forked)
	if next.Left == nil {
		next.Left, next.IDs = o.Left, o.IDs
	}
	return next
}

// Outcome is the progress of a run, or its end.
type Outcome struct {
	Ended      trace.Ended // empty while it runs
	Supersteps int         // number of supersteps
	Messages   int         // messages sent, before combining
	Sent       int         // values sent between partitions
	Bytes      int
	// in a plan the number of the phase that runs next, from 1; the program itself is the last; 0
	// without a plan
	Phase int
	// Forked describes the other run whose checkpoint this run continues, and the differences; ""
	// if there is none.
	Forked string
	// Left is the size of the graph after a program that changes it, and IDs the first id that no
	// vertex has had; nil and 0 for other programs.
	Left *record.GraphSize
	IDs  uint64
}
