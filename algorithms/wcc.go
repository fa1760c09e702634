package algorithms

import (
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// WCC finds the weakly connected components: the value of a vertex is the least VertexID of its component, which is its
// vertex of the highest degree.
type WCC struct{}

// Combiner keeps the least. Its terminal value is vertex 0: in the hub's component most walks end at the first
// neighbours.
func (WCC) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Direction is both: weak components ignore the direction of edges.
func (WCC) Direction() pregel.Direction { return pregel.Both }

// Monotone says that an id which is no less changes nothing.
func (WCC) Monotone() {}

// Group is a vertex's component, of which reports name the largest.
func (WCC) Group(component ID) ID { return component }

// Init makes every vertex a component.
func (p WCC) Init(v *pregel.Vertex[ID, ID]) {
	v.Set(v.ID())
	p.announce(v)
}

// Compute takes a lesser id and sends it to the neighbours.
func (p WCC) Compute(v *pregel.Vertex[ID, ID], least ID) {
	if least >= v.Value() {
		v.VoteToHalt()
		return
	}
	v.Set(least)
	p.announce(v)
}

// announce sends the vertex's component to its neighbours. Nothing is less than 0, so a vertex with 0 finishes.
func (WCC) announce(v *pregel.Vertex[ID, ID]) {
	v.SendToAllNeighbors(v.Value())
	if v.Value() == 0 {
		v.Finish()
	} else {
		v.VoteToHalt()
	}
}
