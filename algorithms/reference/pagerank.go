package reference

// PageRank returns the ranks after the given number of iterations from 1/N each, as Graphalytics defines them: the
// rank of a vertex without out-arcs is shared by all vertices, so that ranks keep adding up to 1.
func PageRank(g Graph, damping float64, iterations int) []float64 {
	out, n := g.out(), float64(g.N)
	rank := make([]float64, g.N)
	for v := range rank {
		rank[v] = 1 / n
	}
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
			rank[v] = (1-damping)/n + damping*sum[v] + damping/n*dangling
		}
	}
	return rank
}
