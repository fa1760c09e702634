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

// Facts are what a driver needs of a process's partitions before the first superstep.
type Facts struct {
	Partitions int    // of the whole graph
	Edges      uint64 // of the whole graph
	// Of the whole graph as it was loaded.
	LoadedVertices, LoadedArcs uint64
	// how many of these partitions' vertices have been removed, or are not there yet
	Absent  int  `json:",omitempty"`
	Ordered bool // the result depends on the order of messages
	// reports say more of the values than the aggregators do
	Summary bool `json:",omitempty"`
	// groups of the summary are named by vertices
	GroupVertices bool `json:",omitempty"`

	Load delivery.Load // of these partitions; Vertices of the whole graph
	// Ways are, of a program of direction Either, the loads of messages that go one way alone: to
	// out-neighbours, to in-neighbours.
	Ways  []delivery.Load `json:",omitempty"`
	Rates delivery.Rates
	// Standing is how far these partitions are, if they go on from a checkpoint.
	Standing *Standing `json:",omitempty"`
}

// Standing is where partitions stand that go on from a checkpoint: counts over them, as reports
// have them after a superstep.
type Standing struct {
	Superstep                                    int // that comes next
	Active, Unfinished, UnfinishedEdges          int
	Senders, SenderEdges, BackSenders, BackEdges int
	Sends, Requests                              int
	Print                                        uint64 // of the graph: checkpoint.Graph
	// of the whole graph, as the program sees it
	Vertices uint64
	forked   string // as Outcome has it
}

// Add adds what other partitions counted.
func (s *Standing) Add(o *Standing) {
	s.Active += o.Active
	s.Unfinished += o.Unfinished
	s.UnfinishedEdges += o.UnfinishedEdges
	s.Senders += o.Senders
	s.SenderEdges += o.SenderEdges
	s.BackSenders += o.BackSenders
	s.BackEdges += o.BackEdges
	s.Sends += o.Sends
	s.Requests += o.Requests
	s.Print += o.Print
}

// Command is the coordinator's command to every partition for one superstep.
type Command struct {
	Superstep, Phase int
	// Scheme delivers the last superstep's messages to neighbours; Sends says that there are also
	// messages to single vertices.
	Scheme delivery.Scheme
	Sends  bool
	// Took is how many seconds the superstep before this command took, for those who count what
	// partitions did.
	Took float64
	// Change says that vertices asked for changes of the graph in the last superstep: they are made
	// between delivery and compute, or at the end of the run.
	Change bool
	// Finished says that some vertices are finished.
	Finished bool
	// SenderEdges is how many edges the messages to neighbours cross, in all partitions.
	SenderEdges int
	// Ways has a bit for each direction in which a program of direction Either has sent messages to
	// neighbours: 1 out, 2 in.
	Ways   uint8
	Totals []kernel.Cell
	// Save, if not 0, says that partitions save the state in which they begin the superstep, for a
	// checkpoint: it is the superstep's number in the run, the phases before it counted.
	Save int
	// Flush says that partitions report when what they have saved is stored.
	Flush bool
	// Ended stands for no superstep: the program has ended. Partitions make the changes of the last
	// superstep, if Change says so; else they report a Summary of their values.
	Ended bool
	// Cut, with Ended, says that the program was stopped before its own end: by Coordinator.Stop or
	// the limit of supersteps.
	Cut bool
}

// Report is a partition's report of its superstep: the trace record, and what only the driver
// needs.
type Report struct {
	record.Partition `msgpack:"record"` // whose field Partition would have the same name
	// The messages that wait for the next superstep: senders to all neighbours, the edges theirs
	// cross, and the messages to single vertices.
	Senders, SenderEdges, Sends int
	// What holds after the superstep: the vertices awake, and those not finished with their
	// in-edges.
	Active, Unfinished, UnfinishedEdges int
	// Of the senders and edges whose messages wait, those against the edges' direction, in a
	// program of direction Either.
	BackSenders, BackEdges int
	// PullEdges is about how many edges a pull of these messages would look at, where that is fewer
	// than UnfinishedEdges and was found out; else 0.
	PullEdges int
	// PushEdges is about how many edges a push of them would walk, where lists have been thinned;
	// else 0.
	PushEdges int

	Err error `msgpack:"-"`
	// Account is what was sent to and received from each other partition; nil with one partition.
	Account *transport.Account
	// Cells are this superstep's aggregates; the driver resets them after the merge. They travel
	// apart.
	Cells []kernel.Cell `msgpack:"-"`
	// Aside is how many seconds went into what later supersteps are delivered by.
	Aside float64
	// Created is how many vertices messages have made that did not exist.
	Created int
	// Changed is the graph after the changes that this superstep made, nil if it made none.
	Changed *Changed
	// Summary is what was asked for by Command.Ended.
	Summary *trace.Summary
	// Stored is what has become of parts of checkpoints since the last report of any of the
	// process's partitions.
	Stored []checkpoint.Stored
}

// Changed is what a driver needs to know of a graph that the program has changed: the counts of the
// whole graph, those ids included that no vertex has, and the partition's part of the loads (see
// Facts).
type Changed struct {
	IDs, Vertices, Edges uint64

	Load delivery.Load
	Ways []delivery.Load `json:",omitempty"`
}

// Begin clears all fields but those that carry over to the next superstep.
func (p *Report) Begin() {
	*p = Report{
		Partition: record.Partition{Partition: p.Partition.Partition},
		Active:    p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges,
	}
}

// Then adds the outcome of what followed.
func (o Outcome) Then(next Outcome) Outcome {
	next.Supersteps += o.Supersteps
	next.Messages += o.Messages
	next.Sent += o.Sent
	next.Bytes += o.Bytes
	if o.Ended != "" && !o.Ended.Complete() { // what followed did not run
		next.Ended = o.Ended
	}
	next.Forked = cmp.Or(next.Forked, o.Forked)
	if next.Left == nil {
		next.Left, next.IDs = o.Left, o.IDs
	}
	return next
}

// Outcome is how far a run is, or how it ended.
type Outcome struct {
	Ended      trace.Ended // empty until it has
	Supersteps int         // that ran
	Messages   int         // sent, before combining
	Sent       int         // values that crossed partitions
	Bytes      int
	// of a plan: the number of the one that runs next, from 1, which is the program itself at last;
	// 0 if there is no plan
	Phase int
	// Forked says from which other run's checkpoint the run went on, and in what the two differ; ""
	// if from none.
	Forked string
	// Left is the size of the graph as a program that changes it has left it, and IDs the first id
	// that no vertex has had; nil and 0 of other programs.
	Left *record.GraphSize
	IDs  uint64
}
