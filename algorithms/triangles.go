package algorithms

import "github.com/superstep-go/superstep/pregel"

// Triangles counts the triangles that each vertex is in: the sets of three vertices of which every two are joined by an edge, in either
// direction. Loops do not count, and parallel edges count once.
//
// It finds each triangle once, from its vertex of the least degree: see [corners]. Three supersteps of at most a message along each edge,
// with the lists of neighbours of higher degree in them. It is a program of lists: pass it as pregel.List(Triangles{}). It looks at
// vertices' edges, and cannot be run in a grid of partitions with both sides above 1: that wants --grid Nx1.
type Triangles struct{}

var triangles = pregel.SumOf[int64]("triangles").Persistent()

// Aggregators are the number of triangles of the graph.
func (Triangles) Aggregators() []pregel.Aggregate { return []pregel.Aggregate{triangles} }

// Score is the number of triangles.
func (Triangles) Score(x int64) float64 { return float64(x) }

// ScoreName is for reports.
func (Triangles) ScoreName() string { return "triangles" }

// Direction is both: the direction of edges does not matter.
func (Triangles) Direction() pregel.Direction { return pregel.Both }

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
