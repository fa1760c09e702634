package verify

import "sync/atomic"

// representatives checks that the name of each group of vertices is its representative: the member
// with most edges, or the first of them in the input. An edge counts at both its ends, and an
// undirected loop once. A name must be a vertex of the group.
func (g Graph) representatives(rule string, name []uint64) error {
	degree := make([]atomic.Int64, g.Vertices)
	g.Progress = nil
	if err := g.passes(1).scan(func(a arcs) *Violation {
		for i, u := range a.from {
			if !a.back || u != a.to[i] {
				degree[u].Add(1)
			}
			if g.Directed {
				degree[a.to[i]].Add(1)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	best := map[uint64]int{}
	for v, c := range name {
		if u, ok := best[c]; !ok || degree[v].Load() > degree[u].Load() {
			best[c] = v
		}
	}
	for v, c := range name {
		if u := best[c]; uint64(u) != c {
			return violation(rule,
				"the representative of vertex %d is %d, and should be %d, which has most edges",
				g.name(v), g.Labels.Of(c), g.name(u))
		}
	}
	return nil
}
