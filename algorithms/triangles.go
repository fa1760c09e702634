package algorithms

import "github.com/superstep-go/superstep/pregel"

// Triangles counts the triangles of each vertex: sets of three vertices in which an edge, in either
// direction, joins every two. Loops do not count, and parallel edges count once.
//
// The vertex of the least degree finds each triangle. It takes three supersteps with at most one
// message along each edge, which has the neighbours of higher degree. It is a list program: pass it
// as pregel.List(Triangles{}). It looks at edges, so it cannot run in a grid of partitions with
// more than one row and column: use --grid Nx1.
type Triangles struct{}

var triangles = pregel.SumOf[int64]("triangles").Persistent()

// Traits returns the traits. Direction: the direction of edges does not matter. Aggregators: the
// number of triangles of the graph.
func (Triangles) Traits() traits {
	return traits{Direction: pregel.Both, Aggregators: aggregates{triangles}}
}

// Report returns the statistics for reports. Score: the number of triangles.
func (Triangles) Report() pregel.Report[int64] { return scored[int64]("triangles") }

// Compute sends lists of neighbours, counts what they have in common, and adds up the counts.
func (Triangles) Compute(v *pregel.Vertex[int64, corners], lists []corners) {
	switch v.Superstep() {
	case 0:
		v.SendToAllNeighbors(corners{From: v.ID(), Ends: lightEnds(endsOf(v, v.ID()))})
	case 1:
		n := count(v, lightEnds(endsOf(v, v.ID())), lists)
		v.Set(n)
		triangles.Add(v, n)
	default:
		v.Set(v.Value() + sum(v.ID(), lists))
	}
	v.VoteToHalt()
}
