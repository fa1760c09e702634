package reference

// PageRank returns the ranks after the given number of iterations from 1/N each, as LDBC
// Graphalytics defines them. All vertices share the rank of a vertex without out-arcs, so ranks
// always add up to 1. With sources only the sources share it, and start with rank (personalised
// PageRank).
func PageRank(g Graph, damping float64, iterations int, sources ...int) []float64 {
	out, start := g.out(), make([]float64, g.N)
	for v := range start {
		if len(sources) == 0 {
			start[v] = 1 / float64(g.N)
		}
	}
	for _, v := range sources {
		start[v] += 1 / float64(len(sources))
	}
	rank := append([]float64(nil), start...)
	for range iterations {
		sum, dangling := make([]float64, g.N), 0.0
		for u, arcs := range out {
			if len(arcs) == 0 {
				dangling += rank[u]
			}
			for _, a := range arcs {
				sum[a.to] += rank[u] / float64(len(arcs))
			}
		}
		for v := range rank {
			rank[v] = (1-damping)*start[v] + damping*sum[v] + damping*start[v]*dangling
		}
	}
	return rank
}
