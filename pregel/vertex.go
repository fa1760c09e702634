package pregel

import (
	"fmt"
	"iter"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// Vertex is a cursor to the vertex that runs. It is only valid during the call it is passed to.
type Vertex[V, M any] struct {
	b      *Block[V, M]
	values *[64]V // the block's
	cursor
	message M
}

// cursor is the part of a Vertex that does not depend on V and M. Its methods are compiled once,
// and not for each program.
type cursor struct {
	id   VertexID
	i    uint32
	sent sentBits
	bit  uint64 // 1 << i

	halt, finish uint64 // what becomes the block's Halt and Finish
	*partition
}

// ID returns the vertex's handle.
func (v *cursor) ID() VertexID { return v.id }

// Label returns the id the vertex has in the input.
func (v *cursor) Label() uint64 { return v.label(v.id) }

// Value returns the vertex's value.
func (v *Vertex[V, M]) Value() V { return *mem.At(v.values, v.i) }

// Set replaces the vertex's value.
func (v *Vertex[V, M]) Set(x V) { *mem.At(v.values, v.i) = x }

// Ref returns the vertex's value in place, for values too large to copy. It is only valid during
// the call.
func (v *Vertex[V, M]) Ref() *V { return mem.At(v.values, v.i) }

// HasMessage reports whether a message came: the identity of a combiner is a message too.
func (v *Vertex[V, M]) HasMessage() bool { return v.b.Received&v.bit != 0 }

// Woken reports whether the vertex had voted to halt, and runs because a message came.
func (v *Vertex[V, M]) Woken() bool { return v.b.Awake&v.bit == 0 }

// OutDegree returns how many messages SendToAllNeighbors sends, by the program's Direction.
func (v *Vertex[V, M]) OutDegree() int { return int(*mem.At(v.b.OutDegrees, v.i)) }

// InDegree returns how many neighbours send here with SendToAllNeighbors, by the program's
// Direction.
func (v *Vertex[V, M]) InDegree() int { return int(*mem.At(v.b.InDegrees, v.i)) }

// SendToAllNeighbors sends m along every edge of the vertex, by the program's Direction; it is read
// in the next superstep. Each partition gets it once. Called twice in one superstep, the messages
// are combined. What a message points to (a slice, a map) belongs to the engine once it is sent,
// and to all its receivers: nobody may change it, nor append to it but by append(slices.Clip(m),
// x).
func (v *Vertex[V, M]) SendToAllNeighbors(m M) {
	if v.sent != 0 {
		v.sendAgain(m)
	} else {
		v.sent, v.message = sentOne, m
	}
}

// SendAlong sends m to all neighbours in a direction, whatever the way the program's other messages
// go: to out-neighbours, to in-neighbours, or to both. A program that sends against its Direction
// must return Either there.
func (v *Vertex[V, M]) SendAlong(d Direction, m M) {
	forth, back := v.along(d)
	if forth {
		v.SendToAllNeighbors(m)
	}
	if back {
		v.sendBack(m)
	}
}

// Send sends m to one vertex, which need not be a neighbour; it is read in the next superstep, as
// given: a semiring's weight is not applied. What the message points to may not be changed any
// more, as with SendToAllNeighbors.
func (v *Vertex[V, M]) Send(to VertexID, m M) {
	if uint64(to) >= v.state.IDs {
		panic(v.noVertex(to))
	}
	v.b.outbox.Add(uint64(to), uint64(v.id), m)
}

func (p *partition) noVertex(to VertexID) string {
	return fmt.Sprintf("Send to vertex %v: the graph has vertices 0..%d", to, int64(p.state.IDs)-1)
}

// VoteToHalt puts the vertex to sleep until a message wakes it.
func (v *cursor) VoteToHalt() { v.halt |= v.bit }

// Finish halts the vertex for good: messages to it are dropped from now on, and delivery skips it.
// Messages it sent in this call are delivered.
func (v *cursor) Finish() { v.finish |= v.bit }

// Edges yields the vertex's edges by the program's Direction: out-edges, in-edges, or for Both the
// one after the other. Parallel edges are yielded each. The order is that of the neighbours' ids.
// In a grid of partitions with both sides above 1 no partition has them all: the job fails.
func (v *cursor) Edges() iter.Seq[Edge] {
	return v.edges("Edges", v.state.Edges)
}

// OutEdges is Edges for the out-edges, whatever the program's Direction: in an undirected graph all
// edges. An edge's property is to be had (EdgeColumn) only if the program's messages may cross it.
func (v *cursor) OutEdges() iter.Seq[Edge] { return v.edges("OutEdges", v.state.Out) }

// InEdges is OutEdges for the in-edges, whose To is the neighbour at the other end.
func (v *cursor) InEdges() iter.Seq[Edge] { return v.edges("InEdges", v.state.In) }

func (v *cursor) edges(method string, lists []*kernel.EdgeLists) iter.Seq[Edge] {
	v.needEdges(method)
	if own, ok := v.ownOutEdges(); ok {
		return v.changedEdges(own, method, lists)
	}
	local := v.local()
	return func(yield func(Edge) bool) {
		next, more := uint32(0), true
		for _, l := range lists {
			if next, more = eachEdge(l, local, next, yield); !more {
				return
			}
		}
	}
}

// Logf writes a line to the job's log, with the vertex and the superstep in front.
func (v *cursor) Logf(format string, args ...any) {
	if log := v.state.Log; log != nil {
		log(fmt.Sprintf("vertex %d, superstep %d: ", v.Label(), v.Superstep()) +
			fmt.Sprintf(format, args...))
	}
}

func (v *cursor) local() uint32 { return v.base + v.i }
