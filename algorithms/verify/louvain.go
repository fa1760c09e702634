package verify

import "math"

// Louvain checks communities of high modularity. Communities are named by vertices, here those of the input; loops and parallel edges count
// as they do for modularity:
//
//   - member: the vertex that names a community is in it;
//   - neighbour: a vertex that is not alone has an edge of positive weight to another of its community, for who has none leaves it;
//   - modularity: it is at least that of every vertex by itself, but for rounding.
func Louvain(g Graph, community []uint64) error {
	if err := g.fits(len(community), "communities"); err != nil {
		return err
	}
	size := make([]int, len(community))
	for v, c := range community {
		if c >= uint64(len(community)) || community[c] != c {
			return violation("member", "vertex %d has a community that is named by vertex %d, which is not in it", g.name(v), g.name(int(c)))
		}
		size[c]++
	}
	all, err := g.adjacency(bothWays, weighted)
	if err != nil {
		return err
	}
	degree, total := make([]float64, len(community)), 0.0
	var together, apart float64 // weights inside communities, and inside vertices
	for v, c := range community {
		near, loops, weights := 0.0, 0.0, all.weights(v)
		for i, u := range all.of(v) {
			switch w := weights[i]; {
			case int(u) == v:
				loops += 2 * w
				degree[v] += w
			case community[u] == c:
				near += w
			}
			degree[v] += weights[i]
		}
		if size[c] > 1 && near == 0 {
			return violation("neighbour", "vertex %d is with %d others in a community, and no edge joins it to one", g.name(v), size[c]-1)
		}
		total += degree[v]
		together += loops + near
		apart += loops
	}
	sums := make([]float64, len(community))
	for v, c := range community {
		sums[c] += degree[v]
	}
	if a, b := modularity(together, sums, total), modularity(apart, degree, total); !(a-b >= -1e-9) { // nor a number that is none
		return violation("modularity", "it is %g, and with every vertex by itself %g", a, b)
	}
	return nil
}

// modularity of communities with a weight inside, counted from both ends, and these sums of degrees.
func modularity(inside float64, sums []float64, total float64) float64 {
	if total == 0 {
		return 0
	}
	q := inside / total
	for _, s := range sums {
		q -= math.Pow(s/total, 2)
	}
	return q
}
