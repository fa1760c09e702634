package verify

import (
	"cmp"
	"slices"
)

// Sample returns the n vertices whose labels have the least hashes, or all vertices if there are
// fewer.
func Sample(g Graph, n int) []int {
	all := make([]int, g.Vertices)
	for v := range all {
		all[v] = v
	}
	slices.SortFunc(all,
		func(u, v int) int { return cmp.Compare(splitMix(g.name(u)), splitMix(g.name(v))) })
	return all[:min(n, len(all))]
}

// splitMix is the output function of SplitMix64.
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Betweenness checks betweenness centrality by shortest paths from sources, which are distinct. It
// is scaled by the sources' share of all vertices and by the number of pairs of other vertices. It
// computes the scores by one search after the other, with lists of neighbours:
//
//   - score: each vertex has the computed centrality, within rounding.
func Betweenness(g Graph, sources []int, score []float64) error {
	if err := g.fits(len(score), "scores"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	want, n := make([]float64, g.Vertices), float64(g.Vertices)
	paths, dependency := make([]float64, g.Vertices), make([]float64, g.Vertices)
	for _, s := range sources {
		level, queue, err := g.search(out, s)
		if err != nil {
			return err
		}
		clear(paths)
		clear(dependency)
		paths[s] = 1
		for _, v := range queue {
			for _, w := range out.of(int(v)) {
				if level[w] == level[v]+1 {
					paths[w] += paths[v]
				}
			}
		}
		for _, v := range slices.Backward(queue) {
			for _, w := range out.of(int(v)) {
				if level[w] == level[v]+1 {
					dependency[v] += paths[v] * (1 + dependency[w]) / paths[w]
				}
			}
			if int(v) != s {
				want[v] += dependency[v]
			}
		}
	}
	for v := range want {
		if n > 2 {
			want[v] *= n / float64(len(sources)) / ((n - 1) * (n - 2))
		}
	}
	return g.sameScores("score", score, want)
}

// Closeness checks closeness and harmonic centrality by the distances from sources, which are
// distinct. It computes them by one search after the other, with lists of neighbours:
//
//   - closeness, harmonic: each vertex has the computed centralities, within rounding.
func Closeness(g Graph, sources []int, closeness, harmonic []float64) error {
	if err := g.fits(len(closeness), "scores"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, simple)
	if err != nil {
		return err
	}
	type sums struct{ others, reached, distance, inverse float64 }
	all := make([]sums, g.Vertices)
	for v := range all {
		all[v].others = float64(len(sources))
	}
	for _, s := range sources {
		level, queue, err := g.search(out, s)
		if err != nil {
			return err
		}
		all[s].others--
		for _, v := range queue[1:] {
			all[v].reached++
			all[v].distance += float64(level[v])
			all[v].inverse += 1 / float64(level[v])
		}
	}
	near, near1 := make([]float64, g.Vertices), make([]float64, g.Vertices)
	for v, x := range all {
		if x.reached > 0 {
			near[v] = x.reached * x.reached / x.distance / x.others
			near1[v] = x.inverse / x.others * float64(g.Vertices-1)
		}
	}
	if err := g.sameScores("closeness", closeness, near); err != nil {
		return err
	}
	return g.sameScores("harmonic", harmonic, near1)
}

// search returns the levels of a breadth-first search, -1 if unreached, and the reached vertices in
// order.
func (g Graph) search(out adjacency, source int) (level []int32, queue []uint32, err error) {
	if err := g.stopped(); err != nil {
		return nil, nil, err
	}
	level = slices.Repeat([]int32{-1}, g.Vertices)
	level[source], queue = 0, append(queue, uint32(source))
	for i := 0; i < len(queue); i++ {
		for _, w := range out.of(int(queue[i])) {
			if level[w] < 0 {
				level[w] = level[queue[i]] + 1
				queue = append(queue, w)
			}
		}
	}
	return level, queue, nil
}
