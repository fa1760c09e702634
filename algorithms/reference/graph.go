// Package reference has the slow and obvious twins of the algorithms: one thread, plain arrays, no
// code shared with the engine. What the engine computes is compared with them.
package reference

// Graph is a graph as a list of arcs between the vertices 0 to N-1.
type Graph struct {
	N    int
	Arcs [][2]int
	// Weights are those of the arcs; nil means 1 each.
	Weights []float64
	// Directed says whether arcs go one way only. In an undirected graph each is an edge that
	// counts both ways, but for a loop, which is one arc from its vertex to itself. Duplicates
	// count as often as they are there.
	Directed bool
}

// arc is an arc as one of its ends sees it.
type arc struct {
	to     int
	weight float64
}

// out returns the arcs that leave each vertex.
func (g Graph) out() [][]arc {
	arcs := make([][]arc, g.N)
	for i, a := range g.Arcs {
		u, v, w := a[0], a[1], 1.0
		if g.Weights != nil {
			w = g.Weights[i]
		}
		arcs[u] = append(arcs[u], arc{v, w})
		if !g.Directed && u != v {
			arcs[v] = append(arcs[v], arc{u, w})
		}
	}
	return arcs
}

// Degrees returns the numbers of arcs that leave and that enter each vertex.
func Degrees(g Graph) (out, in []int) {
	out, in = make([]int, g.N), make([]int, g.N)
	for u, arcs := range g.out() {
		out[u] = len(arcs)
		for _, a := range arcs {
			in[a.to]++
		}
	}
	return out, in
}
