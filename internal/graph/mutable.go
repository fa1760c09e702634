package graph

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// Label returns the input id of one of the partition's vertices, or of an added vertex.
func (p *Partition) Label(id pregel.VertexID) uint64 { return p.graph.Label(id) }

// Weigh returns a weight as the graph stores it: 0 for -0, and 1 with UnitWeights or in an
// unweighted graph.
func (g *Graph) Weigh(w float64) float64 {
	switch {
	case g.Options.UnitWeights, g.Weights == edges.Unweighted:
		return 1
	case g.Weights == edges.Float32:
		return float64(float32(w)) + 0
	default:
		return w + 0
	}
}

// OutArcs returns the arcs that lead out of vertices, without weights, among the arcs that the
// partition stores for pushes: in a flat grid all arcs of its own vertices, in a 2D grid those of
// its block.
func (p *Partition) OutArcs(from map[pregel.VertexID]bool) []Arc {
	l := p.Layout(pregel.Out)
	lists := l.Blocks[0].Push.BySender
	var arcs []Arc
	bitmap.Each(lists.Bits, func(slot uint32) {
		if id := pregel.VertexID(l.Slots.ID(slot)); from[id] {
			lo, hi := lists.Row(slot)
			for _, to := range lists.Adj[lo:hi] {
				arcs = append(arcs, Arc{From: id, To: pregel.VertexID(l.Slots.ID(to))})
			}
		}
	})
	return arcs
}

// LeastWeight returns the least stored weight of the partition's graph, or 0 if that is less.
func (p *Partition) LeastWeight() float64 { return p.graph.LeastWeight }

// GreatestWeight returns the greatest stored weight of the partition's graph, or 0 if that is
// greater. It is unknown for a changed or mapped graph.
func (p *Partition) GreatestWeight() (w float64, known bool) {
	return p.graph.greatest, p.graph.weightsKnown
}
