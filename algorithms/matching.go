package algorithms

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// Matching finds a maximal matching: pairs of neighbours, with each vertex in at most one pair, to
// which no edge can be added. It has at least half as many pairs as the largest matching. The value
// of a vertex is the other vertex of its pair, or pregel.None. Neighbours are in either direction.
// Parallel edges and loops have no effect.
//
// Edges are ordered by a hash of their ends. A free vertex proposes to the free neighbour of its
// first edge. Two vertices that propose to each other are a pair. The result is the matching that
// takes edges in this order (Blelloch, Fineman and Shun 2012), for any number of partitions, after
// O(log n) rounds of two supersteps. Only free vertices send messages. It is a list program.
type Matching struct{}

// matched is the number of pairs.
var matched = pregel.SumOf[int64]("matched_pairs").Persistent()

// Traits returns the traits. Direction: neighbours are in either direction. Aggregators: the number
// of pairs.
func (Matching) Traits() traits {
	return traits{Direction: pregel.Both, Converges: true, Aggregators: aggregates{matched}}
}

// Init sends to the neighbours that the vertex is free.
func (Matching) Init(v *pregel.Vertex[ID, ID]) { v.SendToAllNeighbors(v.ID()) }

// Compute reads the free neighbours in odd supersteps and proposes to one of them. In even
// supersteps it reads the proposals.
func (Matching) Compute(v *pregel.Vertex[ID, ID], from []ID) {
	if v.Superstep()%2 == 0 {
		if slices.Contains(from, v.Value()) {
			if v.ID() < v.Value() {
				matched.Add(v, 1)
			}
			v.Finish()
			return
		}
		v.SendToAllNeighbors(v.ID())
		return
	}
	best := pregel.None
	for _, u := range from {
		if u != v.ID() && (best == pregel.None || comparePairs(v.ID(), u, best) < 0) {
			best = u
		}
	}
	v.Set(best)
	if best == pregel.None {
		v.Finish()
		return
	}
	v.Send(best, v.ID())
}

// comparePairs compares the edges of v to a and b.
func comparePairs(v, a, b ID) int {
	return cmp.Or(cmp.Compare(pairHash(v, a), pairHash(v, b)), cmp.Compare(min(v, a), min(v, b)),
		cmp.Compare(max(v, a), max(v, b)))
}

// pairHash returns the hash of an edge. The order of its ends does not matter.
func pairHash(u, v ID) uint64 { return hash(hash(uint64(min(u, v))) + uint64(max(u, v))) }
