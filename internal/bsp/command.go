package bsp

import (
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
)

// Facts are what a driver must know of a process's partitions before the first superstep.
type Facts struct {
	Partitions      int // of the whole graph
	Vertices, Edges uint64
	Ordered         bool // the result depends on the order of messages

	Load  delivery.Load // what these partitions add to it, the graph's vertices apart
	Rates delivery.Rates
}

// Command is what every partition is told to do in a superstep.
type Command struct {
	Superstep, Phase int
	// Scheme delivers the messages of the last superstep to neighbours; Sends says that there are others.
	Scheme delivery.Scheme
	Sends  bool
	// Finished says that some vertices are finished.
	Finished bool
	// SenderEdges is how many edges the messages to neighbours cross, in all partitions.
	SenderEdges int
	Totals      []kernel.Cell
}

// Report is what a partition tells of its superstep: what is recorded of it, and what only the driver wants.
type Report struct {
	trace.Partition
	Err error
	// Account is with the other partitions, or nil of the only one.
	Account *transport.Account
	Cells   []kernel.Cell // this superstep's aggregates, to be reset by who merges them
}

// Begin forgets what belongs to one superstep alone.
func (p *Report) Begin() {
	*p = Report{Partition: trace.Partition{
		Partition: p.Partition.Partition, Active: p.Active, Unfinished: p.Unfinished, UnfinishedEdges: p.UnfinishedEdges,
	}}
}

// Outcome says why a run ended.
type Outcome struct {
	Done bool
	// Converged: no vertex was awake and no message under way, or Coordinate halted; false at the limit of supersteps.
	Converged  bool
	Supersteps int // that ran
	Messages   int // sent, before combining
	Sent       int // values that crossed partitions
	Bytes      int
}
