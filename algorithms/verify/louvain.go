package verify

import "math"

// gainless is the gain of modularity that may be due to rounding. unlike is the tolerance for two
// sums of modularity in different orders.
const (
	gainless = 1e-12
	unlike   = 1e-9
)

// Louvain checks communities of high modularity: no small change raises modularity by more than the
// tolerance, within rounding. It also checks the reported modularity. A community is named by a
// vertex of the input. Loops and parallel edges count as in modularity:
//
//   - member: the vertex that names a community is its representative (see Graph.representatives);
//   - connected: paths of edges of positive weight within a community join all its members;
//   - move: no vertex gains by moving to another community, or to a new one;
//   - merge: no two communities gain by becoming one;
//   - modularity: it is that of the communities.
func Louvain(g Graph, tolerance, modularity float64, community []uint64) error {
	if err := g.fits(len(community), "communities"); err != nil {
		return err
	}
	for v, c := range community {
		if c >= uint64(len(community)) || community[c] != c {
			return violation("member",
				"vertex %d has a community that is named by vertex %d, which is not in it",
				g.name(v), g.name(int(c)))
		}
	}
	if err := g.representatives("member", community); err != nil {
		return err
	}
	all, err := g.adjacency(bothWays, weighted)
	if err != nil {
		return err
	}
	size, total, found := make([]int, len(community)), 0.0, 0.0
	degree, sums := make([]float64, len(community)), make([]float64, len(community))
	parts := newUnion(len(community))
	for v, c := range community {
		for i, w := range all.weights(v) {
			u := int(all.of(v)[i])
			if degree[v] += w; u == v {
				degree[v] += w
			}
			if w > 0 && community[u] == c {
				parts.join(u, v)
				found += w
				if u == v {
					found += w
				}
			}
		}
		size[c]++
		sums[c] += degree[v]
		total += degree[v]
	}
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return violation("move", "the weights add up to %g", total)
	}
	for v, c := range community {
		if parts.find(v) != parts.find(int(c)) {
			return violation("connected",
				"vertices %d and %d are in one community, and no path in it joins them", g.name(v),
				g.name(int(c)))
		}
	}
	gain := func(joined, a, b float64) float64 { return 2 * (joined/total - a/total*(b/total)) }
	between := map[[2]uint64]float64{}
	for v, c := range community {
		near := map[uint64]float64{}
		for i, w := range all.weights(v) {
			if u := int(all.of(v)[i]); u != v && w > 0 {
				near[community[u]] += w
				if d := community[u]; c < d {
					between[[2]uint64{c, d}] += w
				}
			}
		}
		stay := gain(near[c], degree[v], sums[c]-degree[v])
		if total > 0 && size[c] > 1 && -stay > tolerance+gainless {
			return violation("move", "vertex %d gains %g by leaving the community of %d", g.name(v),
				-stay, g.name(int(c)))
		}
		for d, w := range near {
			if more := gain(w, degree[v], sums[d]) - stay; d != c && more > tolerance+gainless {
				return violation("move",
					"vertex %d gains %g by moving from the community of %d to that of %d",
					g.name(v), more, g.name(int(c)), g.name(int(d)))
			}
		}
	}
	for pair, w := range between {
		if more := gain(w, sums[pair[0]], sums[pair[1]]); more > tolerance+gainless {
			return violation("merge", "the communities of %d and %d gain %g by becoming one",
				g.name(int(pair[0])), g.name(int(pair[1])), more)
		}
	}
	for _, sum := range sums {
		if total > 0 {
			found -= sum / total * sum
		}
	}
	if total > 0 {
		found /= total
	}
	if !(math.Abs(modularity-found) <= unlike) {
		return violation("modularity", "the modularity is reported as %g, and is %g", modularity,
			found)
	}
	return nil
}
