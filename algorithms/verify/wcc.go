package verify

import (
	"cmp"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
)

// WCC checks the labels of weakly connected components, which are vertices:
//
//   - edge: both ends of an arc have the same label, so a component has one label;
//   - distinct: different components, by a union-find of the arcs, have different labels;
//   - representative: the label is the member with most edges, or the first of them in the input.
func WCC(g Graph, label []uint64) error {
	if err := g.fits(len(label), "labels"); err != nil {
		return err
	}
	directed := g.Directed
	g = g.passes(2)
	g.Directed = true // one direction is enough
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			if v := a.to[i]; label[u] != label[v] {
				return violation("edge",
					"an edge joins vertex %d with label %d and vertex %d with label %d",
					g.name(int(u)), label[u], g.name(int(v)), label[v])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	roots, err := g.components()
	if err != nil {
		return err
	}
	slices.SortFunc(roots,
		func(u, v uint32) int { return cmp.Or(cmp.Compare(label[u], label[v]), cmp.Compare(u, v)) })
	for i := 1; i < len(roots); i++ {
		if u, v := roots[i-1], roots[i]; label[u] == label[v] {
			return violation("distinct", "vertices %d and %d have label %d and no path joins them",
				g.name(int(u)), g.name(int(v)), label[u])
		}
	}
	g.Directed = directed
	return g.representatives("representative", label)
}

// components returns the least vertex of each vertex's component.
func (g Graph) components() ([]uint32, error) {
	parent := make([]uint32, g.Vertices) // never greater than the vertex
	for v := range parent {
		parent[v] = uint32(v)
	}
	find := func(v uint32) uint32 {
		for parent[v] != v {
			parent[v] = parent[parent[v]]
			v = parent[v]
		}
		return v
	}
	var b edges.Block
	for i := range edges.Blocks(g.Edges) {
		if err := g.read(i, &b); err != nil {
			return nil, err
		}
		for j, u := range b.U[:b.N] {
			if x, y := find(uint32(u)), find(uint32(b.V[j])); x != y {
				parent[max(x, y)] = min(x, y)
			}
		}
	}
	var roots []uint32
	for v, p := range parent {
		if p == uint32(v) {
			roots = append(roots, p)
		}
	}
	return roots, nil
}
