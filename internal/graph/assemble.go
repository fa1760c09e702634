package graph

import (
	"runtime"
	"sync"

	"github.com/superstep-go/superstep/internal/mem"
)

// Assemble returns a graph of changed partitions. base is the graph before the changes; parts are
// all of its partitions in this process. The new graph owns the partitions and frees them when it
// is closed. They must not be in use. Memory that they share with base still belongs to base.
func Assemble(base *Graph, parts ...*Changed) *Graph {
	g := assemble(base, parts)
	g.extendMaps()
	return g
}

func assemble(base *Graph, parts []*Changed) *Graph {
	first := parts[0].Partition.graph
	g := &Graph{
		Name: base.Name, N: first.N, Directed: base.Directed, Weights: base.Weights,
		Options: first.Options, Connected: first.N, Tuples: base.Tuples, Loops: base.Loops,
		Dropped: base.Dropped, LeastWeight: first.LeastWeight, Order: base.Order, IDs: base.IDs,
		Labels: base.Labels, Names: base.Names, added: first.added, least: base.least,
		Parts: make([]*Partition, len(base.Parts)), Deal: base.Deal,
		arena: &mem.Arena{Budget: base.arena.Budget, Kind: mem.Graph},
	}
	g.held = &held{arena: g.arena}
	for _, c := range parts {
		p := c.Partition
		p.graph, g.Parts[p.Index] = g, p
		g.Arcs += uint64(c.Arcs)
		g.held.uses, c.uses = append(g.held.uses, c.uses...), nil
	}
	runtime.AddCleanup(g, func(h *held) { h.free() }, g.held)
	return g
}

// extendMaps adds the vertices that were added after loading to the maps. Their input ids are the
// largest.
func (g *Graph) extendMaps() {
	if g.Order == nil || g.added == nil {
		return
	}
	labels := make([]uint64, g.N-len(g.Order))
	for i := range labels {
		labels[i] = g.added.label + uint64(i)
	}
	g.added = nil
	g.label(labels)
}

// held is what a graph of changed partitions frees, once.
type held struct {
	arena *mem.Arena
	uses  []*storage
	once  sync.Once
}

func (h *held) free() {
	if h == nil {
		return
	}
	h.once.Do(func() {
		h.arena.Close()
		for _, s := range h.uses {
			s.release()
		}
	})
}
