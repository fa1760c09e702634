package algorithms

import "github.com/superstep-go/superstep/pregel"

// LCC is the local clustering coefficient of LDBC Graphalytics: the share of the ordered pairs of a
// vertex's neighbours that are joined by an edge from the first to the second. Neighbours are in
// either direction. The value is 0 with fewer than two neighbours. In an undirected graph an edge
// joins both ordered pairs. Loops do not count, and parallel edges count once.
//
// It counts triangles as Triangles does. It takes three supersteps with at most one message along
// each edge, which has the neighbours of higher degree. It is a list program: pass it as
// pregel.List(LCC{}). It looks at edges, so it cannot run in a grid of partitions with more than
// one row and column: use --grid Nx1.
type LCC struct{}

var meanLCC = pregel.SumOf[float64]("mean")

// Traits returns the traits. Direction: neighbours are in either direction. Aggregators: the mean
// of the coefficients, which is the graph's clustering coefficient of Watts and Strogatz (1998).
func (LCC) Traits() pregel.Traits {
	return traits{Direction: pregel.Both, Aggregators: aggregates{meanLCC}}
}

// Report returns the statistics for reports.
func (LCC) Report() pregel.Report[float64] { return scored[float64]("clustering coefficient") }

// Compute sends lists of neighbours, counts the edges between common neighbours, and divides the
// counts by the numbers of pairs.
func (LCC) Compute(v *pregel.Vertex[float64, corners], lists []corners) {
	switch v.Superstep() {
	case 0:
		v.SendToAllNeighbors(corners{From: v.ID(), Ends: endsOf(v, v.ID())})
	case 1:
		v.Set(float64(count(v, endsOf(v, v.ID()), lists)))
	default:
		joined := v.Value() + float64(sum(v.ID(), lists))
		v.Set(0)
		if joined > 0 {
			d := float64(len(endsOf(v, pregel.None)))
			v.Set(joined / (d * (d - 1)))
			meanLCC.Add(v, v.Value()/float64(v.NumVertices()))
		}
		v.VoteToHalt()
	}
}
