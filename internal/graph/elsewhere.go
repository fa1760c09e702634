package graph

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// Elsewhere is a graph whose partitions are in other processes: this one has its figures and, by number, the input ids of its
// vertices.
func Elsewhere(name string, labels []uint64, arcs uint64, directed bool, grid Grid) *Graph {
	n := len(labels)
	g := &Graph{
		Name: name, N: n, Arcs: arcs, Directed: directed, Options: Options{Partitions: grid.Partitions(), Grid: grid},
		Order: make([]uint32, n), IDs: make([]uint32, n), Parts: make([]*Partition, grid.Partitions()), arena: new(mem.Arena),
	}
	if n == 0 {
		return g
	}
	if first := slices.Min(labels); slices.Max(labels)-first < uint64(n) { // all there are from the first on
		g.Labels = edges.Consecutive(first)
		for id, label := range labels {
			g.Order[id], g.IDs[label-first] = uint32(label-first), uint32(id)
		}
		return g
	}
	for id := range g.IDs {
		g.IDs[id] = uint32(id)
	}
	slices.SortFunc(g.IDs, func(a, b uint32) int { return cmp.Compare(labels[a], labels[b]) })
	sorted := make([]uint64, n)
	for i, id := range g.IDs {
		g.Order[id], sorted[i] = uint32(i), labels[id]
	}
	g.Labels = edges.NewLabels(sorted)
	return g
}
