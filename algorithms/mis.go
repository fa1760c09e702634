package algorithms

import (
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// MIS finds a maximal independent set: no edge joins two of its vertices, and every other vertex
// has a neighbour in it. Neighbours are in either direction. Parallel edges and loops have no
// effect. Isolated vertices are in the set.
//
// It is Luby's algorithm (1986) with a fixed order, the hash of the input id. A vertex that comes
// before all its remaining neighbours joins the set, and these leave. The result is the set that
// takes vertices in this order (Blelloch, Fineman and Shun 2012), for any number of partitions,
// after O(log n) rounds of two supersteps. Only remaining vertices send messages.
type MIS struct{}

// joined is the message of a vertex that joined the set. If the hash of a vertex is 0 too, no
// neighbour comes before the vertex, so it joins anyway.
const joined = 0

// members is the number of vertices in the set.
var members = pregel.SumOf[int64]("members").Persistent()

// Combiner keeps the least hash.
func (MIS) Combiner() pregel.Combiner[uint64] { return combiners.Min[uint64]() }

// Traits returns the traits. Direction: neighbours are in either direction. Aggregators: the size
// of the set.
func (MIS) Traits() pregel.Traits {
	return traits{Direction: pregel.Both, Converges: true, Aggregators: aggregates{members}}
}

// Init sends the vertex's position in the order to its neighbours.
func (MIS) Init(v *pregel.Vertex[bool, uint64]) { v.SendToAllNeighbors(hash(v.Label())) }

// Compute lets a vertex join the set in odd supersteps, if no neighbour comes before it. In even
// supersteps a vertex leaves if a neighbour has joined.
func (MIS) Compute(v *pregel.Vertex[bool, uint64], least uint64) {
	place := hash(v.Label())
	switch {
	case v.Superstep()%2 == 1:
		if place <= least {
			v.Set(true)
			members.Add(v, 1)
			v.SendToAllNeighbors(joined)
			v.Finish()
		}
	case least == joined:
		v.Finish()
	default:
		v.SendToAllNeighbors(place)
	}
}

// Resend sends again that the vertex has joined, or its position, when a run resumes from a
// checkpoint.
func (MIS) Resend(v *pregel.Vertex[bool, uint64]) {
	if v.Value() {
		v.SendToAllNeighbors(joined)
	} else {
		v.SendToAllNeighbors(hash(v.Label()))
	}
}
