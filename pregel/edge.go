package pregel

import "github.com/superstep-go/superstep/internal/kernel"

// Edge is one edge of a vertex.
type Edge struct {
	// To is the neighbour.
	To VertexID
	// Weight is the edge's weight, 1 in a graph without weights.
	Weight float64

	at    uint32
	lists *kernel.EdgeLists
}

// eachEdge calls yield for every edge of a list, until it returns false.
func eachEdge(l *kernel.EdgeLists, local uint32, yield func(Edge) bool) bool {
	lo, hi := l.Row(local)
	for j := lo; j < hi; j++ {
		if !yield(edgeAt(l, j)) {
			return false
		}
	}
	return true
}
