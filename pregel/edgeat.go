package pregel

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Edge returns edge i of those that [Vertex.Edges] yields, in its order, in constant time: a random walk takes
// v.Edge(v.Rand().IntN(v.OutDegree())). i is at least 0 and less than OutDegree, which counts by the program's Direction too. Any
// other i fails the job, and so does a grid of partitions with both sides above 1.
func (v *Vertex[V, M]) Edge(i int) Edge {
	local, at := v.b.base+v.i, uint64(i) // far too large if i is negative
	for _, l := range v.b.Worker.state.Edges {
		lo, hi := l.Row(local)
		if n := uint64(hi - lo); at >= n {
			at -= n
			continue
		}
		return edgeAt(l, lo+uint32(at))
	}
	if why := v.b.Worker.state.NoEdges; why != nil {
		panic(fmt.Errorf("Edge: %w", why))
	}
	n := v.OutDegree()
	if n == 0 {
		panic(fmt.Sprintf("Edge(%d): the vertex has no edges", i))
	}
	panic(fmt.Sprintf("Edge(%d): the vertex has %d edges: i is from 0 to %d", i, n, n-1))
}

// edgeAt returns the edge at a place of the lists' Adj.
func edgeAt(l *kernel.EdgeLists, j uint32) Edge {
	e := Edge{To: VertexID(l.ID(l.Adj[j])), Weight: 1, at: j + l.Offset, lists: l}
	switch {
	case l.Weights64 != nil:
		e.Weight = l.Weights64[j]
	case l.Weights32 != nil:
		e.Weight = float64(l.Weights32[j])
	}
	return e
}
