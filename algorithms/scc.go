package algorithms

import (
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// SCC finds the strongly connected components. The value of a vertex is the representative of its
// component: the member with most edges, or the first of them in the input. That is the member with
// the least VertexID. In an undirected graph these are the connected components. Loops and parallel
// edges have no effect.
//
// It is colouring with trimming (Orzan 2004; in Pregel: Salihoglu and Widom 2014; Slota,
// Rajamanickam and Madduri 2014). A vertex is open until its component is known. Each round has
// three phases. Trimming: a vertex without an open in-neighbour, or without an open out-neighbour,
// is a component by itself; it tells its neighbours. Forward: each open vertex gets the least id
// from which it can be reached, its colour. Backward: a vertex whose colour is its own id is the
// root of a component. The component has all vertices of this colour that reach the root. Each
// round finds at least the component of the least open vertex. In web graphs and social networks
// the first one is the giant component.
//
// In a round trimming sends at most two messages along each edge, in as many supersteps as vertices
// become removable one after the other. Two searches follow.
type SCC struct{}

var (
	// plus 1; 0 while the vertex is open
	componentOf = pregel.NewVertexColumn[ID]("component").Private()
	colourOf    = pregel.NewVertexColumn[ID]("colour").Private()
	stillOpen   = pregel.SumOf[int64]("open").Persistent()
)

// Plan runs rounds until no vertex is open.
func (SCC) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return stillOpen.Value(r) == 0 },
		plan.Phase(sccTrim{}), plan.Phase(sccForward{}), plan.Phase(sccBackward{}))
}

// Traits returns the traits.
func (SCC) Traits() pregel.Traits { return traits{Converges: true, Columns: columns{componentOf}} }

// Combiner is required; there are no messages.
func (SCC) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Report returns the statistics for reports.
func (SCC) Report() pregel.Report[ID] { return byRepresentative }

// Compute takes the result of the phases.
func (SCC) Compute(v *pregel.Vertex[ID, ID], _ ID) {
	v.Set(componentOf.Of(v) - 1)
	v.VoteToHalt()
}

// sccTrim is the first phase. The value of a vertex has the number of open in-neighbours in the low
// 32 bits, and of open out-neighbours in the high ones. So do messages.
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
		return // stay awake: a vertex without neighbours gets no message
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

// sccBackward is the third phase. A colour never rises along an edge. So no colour that comes back
// to a vertex exceeds the vertex's own, and it is enough to keep the greatest.
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
