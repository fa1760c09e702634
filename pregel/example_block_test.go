package pregel_test

import (
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Share lets each vertex except one give 1 in equal parts to its neighbours. A vertex's value is
// what it receives.
type Share struct{ Except pregel.VertexID }

var given = pregel.SumOf[int]("given")

func (Share) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (Share) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{given}, Columns: []pregel.Column{visits}}
}

// visits counts the messages to each vertex.
var visits = pregel.NewVertexColumn[int]("visits").Private()

// started is called for a vertex or a block.
func (Share) started(c pregel.Context, n int) { given.Add(c, n) }

func (p Share) Init(v *pregel.Vertex[float64, float64]) {
	if v.OutDegree() > 0 && v.ID() != p.Except {
		v.SendToAllNeighbors(1 / float64(v.OutDegree()))
		p.started(v, 1)
	}
	if v.VoteToHalt(); v.InDegree() == 0 {
		v.Finish()
	}
}

func (Share) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	v.Set(sum)
	visits.Set(v, visits.Of(v)+1)
	v.VoteToHalt()
}

// InitBlock is Init for the vertices in b.Run, which are all awake.
func (p Share) InitBlock(b *pregel.Block[float64, float64]) {
	for run := b.Run & b.Awake; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run)
		if b.OutDegrees[i] > 0 && b.ID(i) != p.Except {
			b.Out[i] = 1 / float64(b.OutDegrees[i])
			b.Sent |= 1 << i
		}
		if b.InDegrees[i] == 0 {
			b.Finish |= 1 << i
		}
	}
	b.Halt = b.Run
	p.started(b, bits.OnesCount64(b.Sent))
}

// ComputeBlock is Compute for the vertices in b.Run.
func (Share) ComputeBlock(b *pregel.Block[float64, float64]) {
	pregel.Take(b.Values, b.In, b.Received)
	for i, n := range visits.Slice(b) {
		visits.Slice(b)[i] = n + int(b.Received>>i&1)
	}
	b.Halt = b.Run
}

// A program with little work per vertex can process 64 vertices at a time.
func ExampleBlock() {
	res := run(Share{Except: pregel.None},
		[]superstep.Edge{{From: 1, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}})
	fmt.Println(values(res))
	// Output: [0 0.5 1.5]
}

// Cheapest computes the least weight of a path from a source.
type Cheapest[W combiners.Weight] struct{ Source pregel.VertexID }

func (Cheapest[W]) Combiner() pregel.Combiner[W] { return combiners.MinPlus[W]() }

func (Cheapest[W]) Traits() pregel.Traits {
	return pregel.Traits{
		Direction: pregel.Out, Monotone: true, Asynchronous: true, NonNegative: true,
		Converges: true,
	}
}

func (Cheapest[W]) Report() pregel.Report[W] {
	return pregel.Report[W]{
		Score:     func(w W) float64 { return -float64(w) },
		ScoreName: "nearness",
		Reached:   func(w W) bool { return w < 1e30 },
	}
}

func (p Cheapest[W]) Start() (W, []pregel.VertexID) { return 1e30, []pregel.VertexID{p.Source} }

func (p Cheapest[W]) Compute(v *pregel.Vertex[W, W], w W) {
	if v.Superstep() == 0 {
		w = 0
	}
	if w < v.Value() {
		v.Set(w)
		v.SendToAllNeighbors(w) // arrives with the weight of the edge added
	}
	v.VoteToHalt()
}

// Traits tell the engine which optimizations are allowed. Report determines the content of reports.
func ExampleTraits() {
	res := run(Cheapest[float64]{Source: 0},
		[]superstep.Edge{{From: 1, To: 2, Weight: 1.5}, {From: 1, To: 3, Weight: 4}, {From: 2, To: 3, Weight: 2}})
	fmt.Println(values(res), res.Ended)
	// Output: [0 1.5 3.5] converged
}

// Farthest computes, for each vertex, the greatest input id in its component.
type Farthest struct{}

func (Farthest) Combiner() pregel.Combiner[uint64] { return combiners.Max[uint64]() }

func (Farthest) Traits() pregel.Traits {
	return pregel.Traits{Direction: pregel.Both, InputIDs: true}
}

func (Farthest) Report() pregel.Report[uint64] {
	return pregel.Report[uint64]{Number: func(id uint64) uint64 { return id }}
}

func (p Farthest) Init(v *pregel.Vertex[uint64, uint64]) { p.Compute(v, v.Label()) }

func (Farthest) Compute(v *pregel.Vertex[uint64, uint64], id uint64) {
	if v.Superstep() == 0 || id > v.Value() {
		v.Set(id)
		v.SendToAllNeighbors(id)
	}
	v.VoteToHalt()
}

// Nearest is like Farthest with VertexIDs: a group is named by its lowest VertexID.
type Nearest struct{}

func (Nearest) Combiner() pregel.Combiner[pregel.VertexID] {
	return combiners.Min[pregel.VertexID]()
}

func (Nearest) Traits() pregel.Traits { return pregel.Traits{Direction: pregel.In} }

func (Nearest) Report() pregel.Report[pregel.VertexID] {
	return pregel.Report[pregel.VertexID]{Group: func(id pregel.VertexID) pregel.VertexID { return id }}
}

func (p Nearest) Init(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) {
	v.Set(pregel.None)
	p.Compute(v, v.ID())
}

func (Nearest) Compute(v *pregel.Vertex[pregel.VertexID, pregel.VertexID], id pregel.VertexID) {
	if id < v.Value() {
		v.Set(id)
		v.SendToAllNeighbors(id)
	}
	v.VoteToHalt()
}

// Reports count the groups in a program's values.
func ExampleReport() {
	list := []superstep.Edge{{From: 1, To: 2}, {From: 4, To: 3}}
	fmt.Println(values(run(Farthest{}, list)))
	all := []pregel.Registered{pregel.Register("farthest", Farthest{}), pregel.Register("nearest",
		Nearest{})}
	for _, p := range all { // as for command.Main
		fmt.Println(p.ProgramName())
	}
	// Output:
	// [2 2 4 4]
	// farthest
	// nearest
}
