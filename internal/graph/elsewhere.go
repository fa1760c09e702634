package graph

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// WithVertices returns the changed version of a graph from Elsewhere, with ids ids and arcs arcs.
// has has a bit for each id that has a vertex.
func (g *Graph) WithVertices(ids int, arcs uint64, has []uint64) *Graph {
	v := &Graph{
		Name: g.Name, N: ids, Arcs: arcs, Directed: g.Directed, Options: g.Options, Names: g.Names,
		Order: g.Order, IDs: g.IDs, Labels: g.Labels, Deal: g.Deal,
		Parts: make([]*Partition, len(g.Parts)), arena: &mem.Arena{Kind: mem.Graph},
	}
	runtime.AddCleanup(v, func(a *mem.Arena) { a.Close() }, v.arena)
	if ids > g.N {
		next := uint64(0)
		if g.N > 0 {
			next = g.Labels.Of(uint64(g.N-1)) + 1
		}
		v.added = &added{pregel.VertexID(g.N), next}
		v.extendMaps()
	}
	for i := range v.Parts {
		p := v.partition(i)
		p.graph = nil
		for local := range p.Owned {
			if bitmap.Get(has, uint32(p.Global(uint32(local)))) {
				continue
			}
			if p.Absent == nil {
				p.Absent = make([]uint64, p.Words())
			}
			bitmap.Set(p.Absent, uint32(local))
		}
		v.Parts[i] = p
	}
	return v
}

// Elsewhere returns a graph whose partitions are in other processes. This process only has its
// figures, and the input ids of its vertices, by vertex id.
func Elsewhere(
	name string, labels []uint64, arcs uint64, directed bool, grid Grid, deal kernel.Deal,
) *Graph {
	n := len(labels)
	g := &Graph{
		Name: name, N: n, Arcs: arcs, Directed: directed,
		Options: Options{Partitions: grid.Partitions(), Grid: grid},
		Deal:    deal,
		Order:   make([]uint32, n), IDs: make([]uint32, n),
		Parts: make([]*Partition, grid.Partitions()), arena: &mem.Arena{Kind: mem.Graph},
	}
	if n == 0 {
		return g
	}
	// all ids from the first to the last
	if first := slices.Min(labels); slices.Max(labels)-first < uint64(n) {
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
