package reference

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// HITS returns hubs and authorities, both of length 1. An iteration computes authorities from hubs,
// and then hubs from authorities.
func HITS(g Graph, iterations int) (hub, authority []float64) {
	hub, authority = slices.Repeat([]float64{1}, g.N), make([]float64, g.N)
	normalize(hub)
	for range iterations {
		clear(authority)
		for u, arcs := range g.out() {
			for _, a := range arcs {
				authority[a.to] += hub[u]
			}
		}
		normalize(authority)
		clear(hub)
		for u, arcs := range g.out() {
			for _, a := range arcs {
				hub[u] += authority[a.to]
			}
		}
		normalize(hub)
	}
	return hub, authority
}

// Eigenvector returns the vector after some iterations. An iteration adds to each score the scores
// of the in-neighbours, and then scales the vector to length 1.
func Eigenvector(g Graph, iterations int) []float64 {
	score := slices.Repeat([]float64{1}, g.N)
	normalize(score)
	for range iterations {
		next := slices.Clone(score)
		for u, arcs := range g.out() {
			for _, a := range arcs {
				next[a.to] += score[u]
			}
		}
		normalize(next)
		score = next
	}
	return score
}

func normalize(x []float64) {
	length := 0.0
	for _, a := range x {
		length = math.Hypot(length, a)
	}
	for i := range x {
		x[i] /= cmp.Or(length, 1)
	}
}

// HyperBall returns the estimates of HyperLogLog counters of 64 registers, by a breadth-first
// search from each vertex: the number of reached vertices, and the sum of 1/distance.
func HyperBall(g Graph) (reached, harmonic []float64) {
	reached, harmonic = make([]float64, g.N), make([]float64, g.N)
	for v := range g.N {
		level := BFSLevels(g, v)
		var register [64]int
		for d := int64(0); d <= int64(g.N); d++ {
			for u, l := range level {
				if l == d {
					x := uint64(u) + 0x9e3779b97f4a7c15
					x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
					x = (x ^ x>>27) * 0x94d049bb133111eb
					x ^= x >> 31
					register[x%64] = max(register[x%64], bits.LeadingZeros64(x)+1)
				}
			}
			sum, empty := 0.0, 0.0
			for _, r := range register {
				sum += math.Pow(2, -float64(r))
				if r == 0 {
					empty++
				}
			}
			size := 0.709 * 64 * 64 / sum
			if size <= 2.5*64 && empty > 0 {
				size = 64 * math.Log(64/empty)
			}
			if d > 0 {
				harmonic[v] += (size - reached[v]) / float64(d)
			}
			reached[v] = size
		}
	}
	return reached, harmonic
}

// Reach returns the exact numbers that HyperBall estimates.
func Reach(g Graph) (reached, harmonic []float64) {
	reached, harmonic = make([]float64, g.N), make([]float64, g.N)
	for v := range g.N {
		for u, d := range BFSLevels(g, v) {
			if d != math.MaxInt64 {
				reached[v]++
				if u != v {
					harmonic[v] += 1 / float64(d)
				}
			}
		}
	}
	return reached, harmonic
}

// Betweenness is Brandes' algorithm (2001) as in the paper, one source after the other. It is
// scaled by the sources' share of all vertices and by the number of pairs of other vertices.
func Betweenness(g Graph, sources []int) []float64 {
	all, out, n := make([]float64, g.N), g.out(), float64(g.N)
	for _, s := range sources {
		sigma, dist, delta := make([]float64, g.N), make([]int, g.N), make([]float64, g.N)
		before := make([][]int, g.N)
		for v := range dist {
			dist[v] = -1
		}
		sigma[s], dist[s] = 1, 0
		queue := []int{s}
		for i := 0; i < len(queue); i++ {
			v := queue[i]
			for _, a := range out[v] {
				w := a.to
				if dist[w] < 0 {
					dist[w] = dist[v] + 1
					queue = append(queue, w)
				}
				if dist[w] == dist[v]+1 {
					sigma[w] += sigma[v]
					before[w] = append(before[w], v)
				}
			}
		}
		for _, w := range slices.Backward(queue) {
			for _, v := range before[w] {
				delta[v] += sigma[v] / sigma[w] * (1 + delta[w])
			}
			if w != s {
				all[w] += delta[w]
			}
		}
	}
	for v := range all {
		if all[v] > 0 {
			all[v] *= n / float64(len(sources)) / (n - 1) / (n - 2)
		}
	}
	return all
}

// Closeness returns closeness and harmonic centrality by the distances from sources.
func Closeness(g Graph, sources []int) (closeness, harmonic []float64) {
	closeness, harmonic = make([]float64, g.N), make([]float64, g.N)
	level := make([][]int64, len(sources))
	for i, s := range sources {
		level[i] = BFSLevels(g, s)
	}
	for v := range g.N {
		others, reached, sum := 0.0, 0.0, 0.0
		for i, s := range sources {
			if s == v {
				continue
			}
			others++
			if d := level[i][v]; d != math.MaxInt64 {
				reached++
				sum += float64(d)
				harmonic[v] += 1 / float64(d)
			}
		}
		if reached > 0 {
			closeness[v] = reached / others * reached / sum
			harmonic[v] *= float64(g.N-1) / others
		}
	}
	return closeness, harmonic
}
