package reference

import (
	"cmp"
	"slices"
)

// MSF returns the indices in g.Arcs of the edges of the minimum spanning forest of an undirected
// graph, by Kruskal's algorithm (1956). It takes edges in ascending order of weight and then of
// ends, if they join two trees.
func MSF(g Graph) (forest []int) {
	weight := func(i int) float64 {
		if g.Weights == nil {
			return 1
		}
		return g.Weights[i]
	}
	order := make([]int, len(g.Arcs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := g.Arcs[i], g.Arcs[j]
		return cmp.Or(cmp.Compare(weight(i), weight(j)), cmp.Compare(min(a[0], a[1]),
			min(b[0], b[1])), cmp.Compare(max(a[0], a[1]), max(b[0], b[1])))
	})
	tree := make([]int, g.N)
	for v := range tree {
		tree[v] = v
	}
	for _, i := range order {
		a, b := tree[g.Arcs[i][0]], tree[g.Arcs[i][1]]
		if a == b {
			continue
		}
		forest = append(forest, i)
		for v := range tree {
			if tree[v] == b {
				tree[v] = a
			}
		}
	}
	return forest
}
