package graph

import (
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// Input lists the stored edges as tuples again: an undirected edge once. Vertices that were removed
// are not in it. The caller closes it, before the graph. It needs the maps of the whole graph; of
// partitions that are elsewhere it has no edges.
func (g *Graph) Input() *edges.Input {
	if g.Vertices() < g.N {
		return g.inputOfPresent()
	}
	return &edges.Input{Name: g.Name, Edges: &tupleList{g: g}, Vertices: g.N, Labels: g.Labels, Names: g.Names, Directed: g.Directed}
}

// inputOfPresent is Input for a graph of which vertices were removed: the others are numbered anew.
func (g *Graph) inputOfPresent() *edges.Input {
	numbers, labels := make([]uint32, g.N), make([]uint64, 0, g.N)
	for v, id := range g.IDs {
		numbers[v] = uint32(len(labels))
		if !g.Absent(pregel.VertexID(id)) {
			labels = append(labels, g.Labels.Of(uint64(v)))
		}
	}
	return g.input(len(labels), edges.NewLabels(labels), func(v uint32) uint32 { return numbers[v] },
		func(v uint32) bool { return !g.Absent(pregel.VertexID(g.IDs[v])) })
}

// input lists the edges between the input vertices that there are, by their numbers in the list.
func (g *Graph) input(vertices int, labels edges.Labels, number func(v uint32) uint32, is func(v uint32) bool) *edges.Input {
	n := 0
	g.eachEdge(func(u, v uint32, _ float64) {
		if is(u) && is(v) {
			n++
		}
	})
	list := edges.NewPacked(uint64(vertices), n, g.Weights)
	var b edges.Block
	at := 0
	g.eachEdge(func(u, v uint32, w float64) {
		if !is(u) || !is(v) {
			return
		}
		b.U[b.N], b.V[b.N], b.W[b.N] = uint64(number(u)), uint64(number(v)), w
		if b.N++; b.N == edges.BlockSize {
			list.Write(at, &b)
			at++
			b.N = 0
		}
	})
	if b.N > 0 {
		list.Write(at, &b)
	}
	return &edges.Input{Name: g.Name, Edges: list, Vertices: vertices, Labels: labels, Names: g.Names, Directed: g.Directed, Free: list.Close}
}

// LightestEdge returns an edge of the least weight, by input ids. It needs the whole graph in this
// process, and an edge in it: else ok is false.
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

// eachEdge calls f for every stored edge, between input vertices; for an undirected one once. It
// needs the whole graph.
func (g *Graph) eachEdge(f func(u, v uint32, w float64)) {
	list, b := &tupleList{g: g}, edges.Block{}
	for i := range edges.Blocks(list) {
		_ = list.Read(i, &b) // it never fails
		for j := range b.N {
			f(uint32(b.U[j]), uint32(b.V[j]), b.W[j])
		}
	}
}
