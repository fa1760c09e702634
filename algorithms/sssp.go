package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// SSSP finds the length of the shortest path from Source along edges of weights that are not negative: infinity where
// there is none.
type SSSP[W combiners.Weight] struct {
	Source ID `param:"source" help:"where paths start"`
}

// Combiner lets the edge a message crosses add its weight, and keeps the least.
func (SSSP[W]) Combiner() pregel.Combiner[W] { return combiners.MinPlus[W]() }

// Initial is the distance of vertices not reached.
func (SSSP[W]) Initial() W { return W(math.Inf(1)) }

// Sources is where paths start.
func (p SSSP[W]) Sources() []ID { return []ID{p.Source} }

// Init gives Source distance 0.
func (p SSSP[W]) Init(v *pregel.Vertex[W, W]) { p.Compute(v, 0) }

// Compute takes a shorter distance and tells the neighbours.
func (SSSP[W]) Compute(v *pregel.Vertex[W, W], dist W) {
	if dist < v.Value() {
		v.Set(dist)
		v.SendToAllNeighbors(dist)
	}
	v.VoteToHalt()
}

// Hop is a vertex's place in a tree of shortest paths.
type Hop[W combiners.Weight] struct {
	Dist   W
	Parent ID
}

// SSSPTree is SSSP that also tells the way: kernel 3 of Graph500. A vertex not reached has distance infinity and parent
// pregel.None. The parent changes only when the distance falls, so that edges of weight zero make no cycle.
type SSSPTree[W combiners.Weight] struct {
	Source ID `param:"source" help:"where paths start"`
}

// Combiner keeps the least distance and who sent it.
func (SSSPTree[W]) Combiner() pregel.Combiner[combiners.Arrival[W]] {
	return combiners.MinPlusSender[W]()
}

// Initial is a vertex not reached.
func (SSSPTree[W]) Initial() Hop[W] { return Hop[W]{W(math.Inf(1)), pregel.None} }

// Sources is where paths start.
func (p SSSPTree[W]) Sources() []ID { return []ID{p.Source} }

// Init makes Source its own parent, at distance 0.
func (p SSSPTree[W]) Init(v *pregel.Vertex[Hop[W], combiners.Arrival[W]]) {
	p.Compute(v, combiners.Arrival[W]{Sender: v.ID()})
}

// Compute takes a shorter way and tells the neighbours.
func (SSSPTree[W]) Compute(v *pregel.Vertex[Hop[W], combiners.Arrival[W]], a combiners.Arrival[W]) {
	if a.Dist < v.Value().Dist {
		v.Set(Hop[W]{a.Dist, a.Sender})
		v.SendToAllNeighbors(combiners.Arrival[W]{Dist: a.Dist, Sender: v.ID()})
	}
	v.VoteToHalt()
}
