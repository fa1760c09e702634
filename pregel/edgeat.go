package pregel

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Edge returns edge i of those that [Vertex.Edges] yields, in its order, in constant time: a random walk takes
// v.Edge(v.Rand().IntN(v.OutDegree())). i is at least 0 and less than OutDegree, which counts by the program's Direction too. Any
// other i fails the job, and so does a grid of partitions with both sides above 1.
func (v *Vertex[V, M]) Edge(i int) Edge {
	if _, ok := v.ownOutEdges(); ok {
		return v.changedEdge(i)
	}
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
	panic(noEdge(i, v.OutDegree()))
}

// changedEdge is Edge for a vertex that has changed its own edges.
func (v *Vertex[V, M]) changedEdge(i int) Edge {
	at := 0
	for e := range v.Edges() {
		if at == i {
			return e
		}
		at++
	}
	panic(noEdge(i, at))
}

func noEdge(i, n int) string {
	if n == 0 {
		return fmt.Sprintf("Edge(%d): the vertex has no edges", i)
	}
	return fmt.Sprintf("Edge(%d): the vertex has %d edges: i is from 0 to %d", i, n, n-1)
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
