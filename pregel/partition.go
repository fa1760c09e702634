package pregel

import (
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/kernel"
)

// partition is one goroutine's view of a superstep in a partition. Vertex and Block have its
// methods.
type partition struct {
	label func(VertexID) uint64
	state kernel.State

	// the local index, in its partition, of the first vertex of the block that runs
	base    uint32
	changes *changes // nil if the program makes none
	random  random
}

// begin prepares for the vertices of a block.
func (p *partition) begin() {
	p.random.of = None
	if c := p.changes; c != nil {
		c.of = None
	}
}

// Superstep returns the number of the superstep, from 0.
func (p *partition) Superstep() int { return p.state.Superstep }

// Phase returns what Coordinate set with SetPhase, 0 at first.
func (p *partition) Phase() int { return p.state.Phase }

// NumVertices returns the number of vertices of the graph.
func (p *partition) NumVertices() uint64 { return p.state.NumVertices }

// NumEdges returns the number of arcs of the graph as stored; an undirected edge is two, an
// undirected loop one.
func (p *partition) NumEdges() uint64 { return p.state.NumEdges }

// needEdges fails the job where the edges of a vertex are in several partitions.
func (p *partition) needEdges(method string) {
	if why := p.state.NoEdges; why != nil {
		panic(fmt.Errorf("%s: %w", method, why))
	}
}

func (p *partition) view() *partition { return p }
func (p *partition) local() uint32    { return noVertex }

// Context is where aggregators and columns are used: a *Vertex, a *Block, a *Coordinator, the
// *plan.Round of a condition, or a *superstep.Result. Only a vertex has values of columns; only
// vertices and blocks add to aggregators.
type Context interface {
	view() *partition
	local() uint32
}

// noVertex is the place of a context that is no vertex: no column has it.
const noVertex = math.MaxUint32
