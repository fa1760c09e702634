package pregel

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Edge is one edge of a vertex.
type Edge struct {
	// To is the neighbour.
	To VertexID
	// Weight is the edge's weight, 1 in a graph without weights.
	Weight float64

	// place has the edge's element in columns in the low half, and its index in the high half. They
	// share a field because Go copies a struct of five fields through memory, which would make
	// Edges take twice as long.
	place uint64
	lists *kernel.EdgeLists
}

// Index returns the edge's position, from 0, in the sequence of the method that yielded it.
// [Vertex.Edge] and [Vertex.SendAlongEdge] take the index of an edge of Edges, Edge or Common. The
// index is valid until the vertex changes its own edges.
func (e Edge) Index() int { return int(e.place >> 32) }

// nextPlace is the difference between the places of consecutive edges.
const nextPlace = 1<<32 | 1

// eachEdge calls yield for every edge of a list, until yield returns false. first is the index of
// the first edge; next is the index after the last edge.
func eachEdge(
	l *kernel.EdgeLists, local, first uint32, yield func(Edge) bool,
) (next uint32, more bool) {
	lo, hi := l.Row(local)
	place := uint64(first)<<32 | uint64(lo+l.Offset)
	for j := lo; j < hi; j++ {
		if !yield(edgeAt(l, j, place)) {
			return 0, false
		}
		place += nextPlace
	}
	return first + hi - lo, true
}

// Edge returns the edge with index i in the sequence of [Vertex.Edges], in constant time. i must be
// at least 0 and less than OutDegree. Any other i fails the job, and so does a grid of partitions
// with both sides above 1.
func (v *cursor) Edge(i int) Edge {
	if _, ok := v.ownOutEdges(); ok {
		return v.changedEdge("Edge", i)
	}
	l, at := v.place("Edge", i)
	return edgeAt(l, at, uint64(i)<<32|uint64(at+l.Offset))
}

// SendAlongEdge is v.Send(v.Edge(i).To, m). In a large graph it is several times as fast, because
// it looks up many receivers at a time. A random walk calls
// v.SendAlongEdge(v.Rand().IntN(v.OutDegree()), walker).
func (v *Vertex[V, M]) SendAlongEdge(i int, m M) {
	if _, ok := v.ownOutEdges(); ok {
		v.Send(v.changedEdge("SendAlongEdge", i).To, m)
		return
	}
	l, at := v.place("SendAlongEdge", i)
	v.b.outbox.AddAlong(l, at, uint64(v.id), m)
}

// place returns the lists that contain edge i, and the edge's position in their Adj. method is the
// caller's name, for errors.
func (v *cursor) place(method string, i int) (*kernel.EdgeLists, uint32) {
	local, at := v.local(), uint64(i) // huge if i is negative
	for _, l := range v.state.Edges {
		lo, hi := l.Row(local)
		if n := uint64(hi - lo); at >= n {
			at -= n
			continue
		}
		return l, lo + uint32(at)
	}
	v.needEdges(method)
	panic(noEdge(method, i, int(uint64(i)-at)))
}

// changedEdge is Edge for a vertex that has changed its own edges.
func (v *cursor) changedEdge(method string, i int) Edge {
	at := 0
	for e := range v.Edges() {
		if at == i {
			return e
		}
		at++
	}
	panic(noEdge(method, i, at))
}

func noEdge(method string, i, n int) string {
	if n == 0 {
		return fmt.Sprintf("%s(%d): the vertex has no edges", method, i)
	}
	return fmt.Sprintf("%s(%d): the vertex has %d edges: i is from 0 to %d", method, i, n, n-1)
}

// edgeAt returns the edge at element j of the lists' Adj.
func edgeAt(l *kernel.EdgeLists, j uint32, place uint64) Edge {
	e := Edge{To: VertexID(l.ID(l.Adj[j])), Weight: 1, place: place, lists: l}
	switch {
	case l.Weights64 != nil:
		e.Weight = l.Weights64[j]
	case l.Weights32 != nil:
		e.Weight = float64(l.Weights32[j])
	}
	return e
}

// Delta is a change of a graph between runs, by input ids. All removals come before all additions.
type Delta struct {
	// RemoveVertices are removed with all their edges, in both directions. RemoveEdges are removed
	// with all edges parallel to them. An edge that does not exist is ignored, but its vertices
	// must be in the graph.
	RemoveVertices []uint64
	RemoveEdges    []InputEdge
	// AddVertices and the ends of AddEdges are added if they do not exist. If an edge exists
	// already, the graph's rule for duplicates applies; if the rule refuses duplicates, the
	// existing edge stays. The graph's rule for loops applies to loops.
	AddVertices []uint64
	AddEdges    []InputEdge
}

// InputEdge is an edge between input ids. In an undirected graph From and To may be exchanged.
// Weight has no effect in a graph without weights, and none on the removal of an edge.
type InputEdge struct {
	From, To uint64
	Weight   float64
}
