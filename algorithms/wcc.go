package algorithms

import (
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// WCC finds the weakly connected components. The value of a vertex is the representative of its
// component: the member with most edges, or the first of them in the input. That is the member with
// the least VertexID.
//
// First a search finds the component of vertex 0, which has the most edges. In web graphs and
// social networks this is the giant component, and the search looks at few of its edges. Then
// labels find the other, small components (the Multistep method; Slota, Rajamanickam and Madduri
// 2014).
type WCC struct{}

// inGiant marks the vertices that the search found in the component of vertex 0.
var inGiant = pregel.NewVertexColumn[bool]("giant").Private()

// Plan runs the search first.
func (WCC) Plan() pregel.Plan { return plan.Phase(wccSearch{}) }

// Traits returns the traits. Direction: weak components ignore the direction of edges. Monotone: an
// id that is not less has no effect. Columns: the result of the search.
func (WCC) Traits() pregel.Traits {
	return traits{
		Direction: pregel.Both, Monotone: true, Converges: true, Columns: columns{inGiant},
	}
}

// Combiner keeps the least id. Its terminal value is vertex 0: in the component of vertex 0 most
// pulls end at the first neighbours.
func (WCC) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Report returns the statistics for reports.
func (WCC) Report() pregel.Report[ID] { return byRepresentative }

// Init makes every vertex that is not in the component of vertex 0 a component by itself.
func (p WCC) Init(v *pregel.Vertex[ID, ID]) {
	if inGiant.Of(v) {
		v.Set(0)
		v.Finish()
		return
	}
	v.Set(v.ID())
	p.announce(v)
}

// InitBlock is Init for the vertices of b.Run. It does not send from vertices without neighbours.
func (WCC) InitBlock(b *pregel.Block[ID, ID]) {
	var components [64]ID
	giant, lonely, id := uint64(0), uint64(0), b.First
	for i, in := range inGiant.Slice(b) {
		bit, component := uint64(1)<<i, id
		if in {
			giant |= bit
			component = 0
		}
		if b.OutDegrees[i] == 0 {
			lonely |= bit
		}
		components[i&63] = component
		id += b.Stride
	}
	pregel.Take(b.Values, &components, b.Run)
	b.Finish |= giant & b.Run
	b.Halt |= b.Run
	b.Sent = b.Run &^ (giant | lonely)
	pregel.Take(b.Out, &components, b.Sent)
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

// announce sends the vertex's component to its neighbours. No id is less than 0, so a vertex with
// value 0 finishes.
func (WCC) announce(v *pregel.Vertex[ID, ID]) {
	v.SendToAllNeighbors(v.Value())
	if v.Value() == 0 {
		v.Finish()
	} else {
		v.VoteToHalt()
	}
}

// Resend sends the component again, when a run resumes from a checkpoint.
func (WCC) Resend(v *pregel.Vertex[ID, ID]) { v.SendToAllNeighbors(v.Value()) }

// wccSearch finds the component of vertex 0.
type wccSearch struct{}

func (wccSearch) Combiner() pregel.Combiner[ID] { return combiners.Sender() }
func (wccSearch) Traits() traits {
	return traits{Direction: pregel.Both, Columns: columns{inGiant}}
}

// Init starts the search at vertex 0, if it exists: the program may run on a graph from which it
// was removed.
func (p wccSearch) Init(v *pregel.Vertex[struct{}, ID]) {
	if v.VoteToHalt(); v.ID() == 0 {
		p.Compute(v, 0)
	}
}

// InitBlock is Init for the vertices of b.Run.
func (p wccSearch) InitBlock(b *pregel.Block[struct{}, ID]) {
	if b.Halt |= b.Run; b.First == 0 {
		p.find(b, b.Run&1)
	}
}

// Compute marks a vertex and continues the search from it.
func (wccSearch) Compute(v *pregel.Vertex[struct{}, ID], _ ID) {
	inGiant.Set(v, true)
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}

// ComputeBlock is Compute for the vertices of b.Run.
func (p wccSearch) ComputeBlock(b *pregel.Block[struct{}, ID]) { p.find(b, b.Run) }

// find is Compute for some vertices of a block.
func (wccSearch) find(b *pregel.Block[struct{}, ID], which uint64) {
	giant := inGiant.Slice(b)
	b.Sent |= which
	b.Finish |= which
	for ; which != 0; which &= which - 1 {
		giant[bits.TrailingZeros64(which)] = true
	}
}
