package graph

import (
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
)

// Input lists the stored edges as tuples again: an undirected edge once. The caller closes it.
func (g *Graph) Input() *edges.Input {
	n := 0
	g.eachEdge(func(_, _ uint32, _ float64) { n++ })
	list := edges.NewPacked(uint64(g.N), n, g.Weights)
	var b edges.Block
	at := 0
	g.eachEdge(func(u, v uint32, w float64) {
		b.U[b.N], b.V[b.N], b.W[b.N] = uint64(u), uint64(v), w
		if b.N++; b.N == edges.BlockSize {
			list.Write(at, &b)
			at++
			b.N = 0
		}
	})
	if b.N > 0 {
		list.Write(at, &b)
	}
	return &edges.Input{Name: g.Name, Edges: list, Vertices: g.N, Labels: g.Labels, Directed: g.Directed, Free: list.Close}
}

// LightestEdge returns an edge of the least weight, by input ids. It needs the whole graph in this process, and an edge in
// it: else ok is false.
func (g *Graph) LightestEdge() (from, to uint64, weight float64, ok bool) {
	if g.Order == nil || slices.Contains(g.Parts, nil) {
		return 0, 0, 0, false
	}
	weight = math.Inf(1)
	g.eachEdge(func(u, v uint32, w float64) {
		if w < weight {
			from, to, weight, ok = g.Labels.Of(uint64(u)), g.Labels.Of(uint64(v)), w, true
		}
	})
	return from, to, weight, ok
}

// eachEdge calls f for every stored edge, between input vertices; for an undirected one once. It needs the whole graph.
func (g *Graph) eachEdge(f func(u, v uint32, w float64)) {
	for _, p := range g.Parts {
		l := &p.along.Push.BySender.Lists
		bitmap.Each(l.Bits, func(slot uint32) {
			from := p.slots.ID(slot)
			lo, hi := l.Row(slot)
			for j := lo; j < hi; j++ {
				to := p.slots.ID(l.Adj[j])
				if !g.Directed && to < from {
					continue
				}
				w := 1.0
				switch {
				case l.Weights64 != nil:
					w = l.Weights64[j]
				case l.Weights32 != nil:
					w = float64(l.Weights32[j])
				}
				f(g.Order[from], g.Order[to], w)
			}
		})
	}
}
