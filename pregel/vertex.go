package pregel

import (
	"fmt"
	"iter"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// Vertex is the vertex that runs. The engine reuses one Vertex for all vertices of a goroutine, so
// it is only valid during the call that gets it.
type Vertex[V, M any] struct {
	b      *Block[V, M]
	values *[64]V // the block's
	cursor
	message M
}

// cursor is the part of a Vertex that does not depend on V and M. The compiler compiles its methods
// once, not once per program.
type cursor struct {
	id   VertexID
	i    uint32
	sent sentBits
	bit  uint64 // 1 << i

	halt, finish uint64 // copied to the block's Halt and Finish
	*partition
}

// ID returns the vertex's id in the engine.
func (v *cursor) ID() VertexID { return v.id }

// Label returns the id the vertex has in the input.
func (v *cursor) Label() uint64 { return v.label(v.id) }

// Value returns the vertex's value.
func (v *Vertex[V, M]) Value() V { return *mem.At(v.values, v.i) }

// Set replaces the vertex's value.
func (v *Vertex[V, M]) Set(x V) { *mem.At(v.values, v.i) = x }

// Ref returns a pointer to the vertex's value, for values too large to copy. The pointer is only
// valid during the call.
func (v *Vertex[V, M]) Ref() *V { return mem.At(v.values, v.i) }

// HasMessage reports whether the vertex received a message. A message that equals the combiner's
// identity counts.
func (v *Vertex[V, M]) HasMessage() bool { return v.b.Received&v.bit != 0 }

// Woken reports whether the vertex had voted to halt, and runs because a message came.
func (v *Vertex[V, M]) Woken() bool { return v.b.Awake&v.bit == 0 }

// OutDegree returns the number of messages that one call of SendToAllNeighbors sends.
func (v *Vertex[V, M]) OutDegree() int { return int(*mem.At(v.b.OutDegrees, v.i)) }

// InDegree returns the number of edges along which SendToAllNeighbors sends to this vertex.
func (v *Vertex[V, M]) InDegree() int { return int(*mem.At(v.b.InDegrees, v.i)) }

// SendToAllNeighbors sends m along every edge of the vertex in the program's Direction. The
// neighbours read it in the next superstep. Each partition gets the message once. If a vertex calls
// it twice in a superstep, the messages are combined.
//
// The engine and all receivers share the memory that a message points to (a slice, a map). Nobody
// may change this memory after the call. A receiver may append to a slice only with
// append(slices.Clip(m), x).
func (v *Vertex[V, M]) SendToAllNeighbors(m M) {
	if v.sent != 0 {
		v.sendAgain(m)
	} else {
		v.sent, v.message = sentOne, m
	}
}

// SendAlong sends m to all out-neighbours, all in-neighbours, or both, whatever the program's
// Direction is. A program that sends in another direction than its own must have the Direction
// Either.
func (v *Vertex[V, M]) SendAlong(d Direction, m M) {
	forth, back := v.along(d)
	if forth {
		v.SendToAllNeighbors(m)
	}
	if back {
		v.sendBack(m)
	}
}

// Send sends m to any vertex, not only to a neighbour. The receiver reads it in the next superstep.
// No combiner applies an edge's weight to it. The memory that the message points to must not be
// changed after the call, as with SendToAllNeighbors.
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

// Finish halts the vertex for good: from now on delivery skips the vertex, and messages to it are
// dropped. Messages that it sent in this call are delivered.
func (v *cursor) Finish() { v.finish |= v.bit }

// Edges yields the vertex's edges in the program's Direction, ordered by the neighbours' ids. For
// Both it first yields the out-edges, then the in-edges. Parallel edges are yielded separately. In
// a grid of partitions with both sides above 1, a vertex's edges are in several partitions, and the
// job fails.
func (v *cursor) Edges() iter.Seq[Edge] {
	return v.edges("Edges", v.state.Edges)
}

// OutEdges yields the out-edges, whatever the program's Direction. In an undirected graph it yields
// all edges. An edge has properties (EdgeColumn) only if the program's messages may cross it.
func (v *cursor) OutEdges() iter.Seq[Edge] { return v.edges("OutEdges", v.state.Out) }

// InEdges yields the in-edges as OutEdges yields the out-edges. Edge.To is the neighbour.
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

// Logf writes a line to the job's log. The line begins with the vertex and the superstep.
func (v *cursor) Logf(format string, args ...any) {
	if log := v.state.Log; log != nil {
		log(fmt.Sprintf("vertex %d, superstep %d: ", v.Label(), v.Superstep()) +
			fmt.Sprintf(format, args...))
	}
}

func (v *cursor) local() uint32 { return v.base + v.i }
