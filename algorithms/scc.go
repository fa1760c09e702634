package algorithms

import (
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// SCC finds the strongly connected components: the value of a vertex is the representative of its
// component, which is the member with most edges, of equals the first in the input. That is the one
// of the least VertexID. In an undirected graph these are the connected components; loops and
// parallel edges make no difference.
//
// It is colouring with trimming (Orzan 2004; in Pregel: Salihoglu and Widom 2014; Slota,
// Rajamanickam and Madduri 2014), in rounds of three phases. Trimming: a vertex that no open vertex
// leads to, or that leads to none, is a component by itself; it is done, and tells its neighbours.
// Forward: each open vertex gets the least id from which it can be reached, its colour. Backward: a
// vertex whose colour is its own id is the root of a component, which is all of its colour that
// reach it. In each round at least the component of the least open vertex is done, which in graphs
// of the web and of people is the giant one at first.
//
// A round takes two messages an edge for trimming, and as many supersteps as trimming goes deep,
// plus those of two searches.
type SCC struct{}

var (
	// and one more, 0 while the vertex is open
	componentOf = pregel.NewVertexColumn[ID]("component").Private()
	colourOf    = pregel.NewVertexColumn[ID]("colour").Private()
	stillOpen   = pregel.SumOf[int64]("open").Persistent()
)

// Plan is the rounds, until no vertex is open.
func (SCC) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return stillOpen.Value(r) == 0 },
		plan.Phase(sccTrim{}), plan.Phase(sccForward{}), plan.Phase(sccBackward{}))
}

// Traits are the program's facts.
func (SCC) Traits() pregel.Traits { return traits{Converges: true, Columns: columns{componentOf}} }

// Combiner is that of no messages.
func (SCC) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Report is what reports show of the values.
func (SCC) Report() pregel.Report[ID] { return byRepresentative }

// Compute takes the result of the phases.
func (SCC) Compute(v *pregel.Vertex[ID, ID], _ ID) {
	v.Set(componentOf.Of(v) - 1)
	v.VoteToHalt()
}

// sccTrim is the first phase. The value of a vertex is how many open vertices lead to it, in the
// low 32 bits, and to how many it leads, in the high ones; so are messages.
type sccTrim struct{}

const (
	leadsHere  = 1
	leadsThere = 1 << 32
)

func (sccTrim) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }
func (sccTrim) Traits() traits {
	return traits{Direction: pregel.Either, Columns: columns{componentOf}}
}

func (p sccTrim) Compute(v *pregel.Vertex[uint64, uint64], neighbours uint64) {
	switch {
	case v.Superstep() == 0 && componentOf.Of(v) != 0:
		v.Finish()
		return
	case v.Superstep() == 0:
		p.tell(v)
		return // awake: who has no neighbours gets no message
	case v.Superstep() == 1:
		v.Set(neighbours)
	default:
		v.Set(v.Value() - neighbours)
	}
	v.VoteToHalt()
	if in, out := uint32(v.Value()), uint32(v.Value()>>32); in == 0 || out == 0 {
		componentOf.Set(v, v.ID()+1)
		p.tell(v)
		v.Finish()
	}
}

func (sccTrim) tell(v *pregel.Vertex[uint64, uint64]) {
	v.SendAlong(pregel.Out, leadsHere)
	v.SendAlong(pregel.In, leadsThere)
}

// sccForward is the second phase: the value of a vertex is its colour.
type sccForward struct{}

func (sccForward) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }
func (sccForward) Traits() traits {
	return traits{Monotone: true, Columns: columns{componentOf, colourOf}}
}

func (p sccForward) Init(v *pregel.Vertex[ID, ID]) {
	if componentOf.Of(v) != 0 {
		v.Finish()
		return
	}
	v.Set(pregel.None)
	p.Compute(v, v.ID())
}

func (sccForward) Compute(v *pregel.Vertex[ID, ID], least ID) {
	if v.VoteToHalt(); least < v.Value() {
		v.Set(least)
		colourOf.Set(v, least)
		v.SendToAllNeighbors(least)
	}
}

// sccBackward is the third phase. A colour only falls along an edge: of those that come back to a
// vertex none is above its own, and the greatest is enough.
type sccBackward struct{}

func (sccBackward) Combiner() pregel.Combiner[ID] { return combiners.Max[ID]() }
func (sccBackward) Traits() traits {
	return traits{
		Direction: pregel.In, Aggregators: aggregates{stillOpen},
		Columns: columns{componentOf, colourOf},
	}
}

func (p sccBackward) Init(v *pregel.Vertex[struct{}, ID]) {
	if componentOf.Of(v) != 0 {
		v.Finish()
		return
	}
	stillOpen.Add(v, 1)
	p.Compute(v, v.ID())
}

func (sccBackward) Compute(v *pregel.Vertex[struct{}, ID], greatest ID) {
	v.VoteToHalt()
	if colour := colourOf.Of(v); greatest == colour {
		componentOf.Set(v, colour+1)
		stillOpen.Add(v, -1)
		v.SendToAllNeighbors(colour)
		v.Finish()
	}
}
