package pregel

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/kernel"
)

// partition is the state of a superstep in a partition, as one goroutine sees it. Vertex and Block
// embed it and have its methods.
type partition struct {
	label func(VertexID) uint64
	state kernel.State

	// the local index, in its partition, of the current block's first vertex
	base    uint32
	changes *changes // nil if the program does not change the graph
	random  random
}

// begin resets the state that belongs to a single vertex, before the vertices of a block run.
func (p *partition) begin() {
	p.random.of = None
	if c := p.changes; c != nil {
		c.of = None
	}
}

// Superstep returns the number of the superstep, from 0.
func (p *partition) Superstep() int { return p.state.Superstep }

// Phase returns the value of Coordinator.SetPhase, 0 at first.
func (p *partition) Phase() int { return p.state.Phase }

// NumVertices returns the number of vertices of the graph.
func (p *partition) NumVertices() uint64 { return p.state.NumVertices }

// NumEdges returns the number of stored arcs. An undirected edge has two arcs, an undirected loop
// one.
func (p *partition) NumEdges() uint64 { return p.state.NumEdges }

// needEdges fails the job if the edges of a vertex are in several partitions.
func (p *partition) needEdges(method string) {
	if why := p.state.NoEdges; why != nil {
		panic(fmt.Errorf("%s: %w", method, why))
	}
}

func (p *partition) view() *partition { return p }
func (p *partition) local() uint32    { return noVertex }

// Context is an argument of the methods of aggregators and columns: a *Vertex, a *Block, a
// *Coordinator, the *plan.Round of a condition, or a *superstep.Result. Columns have values for a
// vertex only, except VertexColumn.Slice, which takes a block. Only vertices and blocks can add to
// aggregators.
type Context interface {
	view() *partition
	local() uint32
}

// noVertex is the local index of a context without a vertex. It is out of range of every column.
const noVertex = math.MaxUint32
