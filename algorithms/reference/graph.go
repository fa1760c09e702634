// Package reference has slow and simple versions of the algorithms: one thread, plain arrays, no
// code shared with the engine. Tests compare the engine's results with them. Read graph.go first.
package reference

// Graph is a graph as a list of arcs between the vertices 0 to N-1.
type Graph struct {
	N    int
	Arcs [][2]int
	// Weights are the weights of the arcs; nil means 1 each.
	Weights []float64
	// Directed means that arcs have a direction. In an undirected graph an arc is an edge in both
	// directions, but a loop is one arc. Each duplicate counts.
	Directed bool
}

// arc is an arc, seen from one of its ends.
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
