package algorithms

import (
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// WCC finds the weakly connected components: the value of a vertex is the representative of its
// component, which is the member with most edges, of equals the first in the input. That is the one
// of the least VertexID.
//
// First the component of vertex 0, the hub, is searched: in graphs of the web and of people that is
// the giant one, and a search looks at few of its edges. What is left is little there, and goes by
// labels (Slota, Rajamanickam and Madduri 2014, who call that Multistep).
type WCC struct{}

// inGiant says of which vertices the search found that they are in the component of vertex 0.
var inGiant = pregel.NewVertexColumn[bool]("giant").Private()

// Plan is the search.
func (WCC) Plan() pregel.Plan { return plan.Phase(wccSearch{}) }

// Traits are the program's facts. Direction: weak components ignore the
// direction of edges. Monotone: an id which is no less changes nothing. Columns:
// what the search found.
func (WCC) Traits() pregel.Traits {
	return traits{
		Direction: pregel.Both, Monotone: true, Converges: true, Columns: columns{inGiant},
	}
}

// Combiner keeps the least. Its terminal value is vertex 0: in the hub's component most walks end
// at the first neighbours.
func (WCC) Combiner() pregel.Combiner[ID] { return combiners.Min[ID]() }

// Report is what reports show of the values.
func (WCC) Report() pregel.Report[ID] { return byRepresentative }

// Init makes every vertex a component that is not in that of vertex 0.
func (p WCC) Init(v *pregel.Vertex[ID, ID]) {
	if inGiant.Of(v) {
		v.Set(0)
		v.Finish()
		return
	}
	v.Set(v.ID())
	p.announce(v)
}

// InitBlock is Init for the vertices of b.Run. Vertices without neighbours have nobody to send to.
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

// announce sends the vertex's component to its neighbours. Nothing is less than 0, so a vertex with
// 0 finishes.
func (WCC) announce(v *pregel.Vertex[ID, ID]) {
	v.SendToAllNeighbors(v.Value())
	if v.Value() == 0 {
		v.Finish()
	} else {
		v.VoteToHalt()
	}
}

// Resend sends the component again, when a run goes on from a checkpoint.
func (WCC) Resend(v *pregel.Vertex[ID, ID]) { v.SendToAllNeighbors(v.Value()) }

// wccSearch finds the component of vertex 0.
type wccSearch struct{}

func (wccSearch) Combiner() pregel.Combiner[ID] { return combiners.Sender() }
func (wccSearch) Traits() traits {
	return traits{Direction: pregel.Both, Columns: columns{inGiant}}
}

// Init begins at vertex 0, if there is one: changes of the graph may have removed it.
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

// Compute marks a vertex that is found, and searches on from it.
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
