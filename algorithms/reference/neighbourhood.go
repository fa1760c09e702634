package reference

import "slices"

// both returns the neighbours of each vertex along arcs of either direction: in an undirected graph
// once per edge, in a directed graph once per arc.
func (g Graph) both() [][]int {
	all := make([][]int, g.N)
	for u, arcs := range g.out() {
		for _, a := range arcs {
			all[u] = append(all[u], a.to)
			if g.Directed {
				all[a.to] = append(all[a.to], u)
			}
		}
	}
	return all
}

// sets returns lists as sets, without the vertex itself.
func sets(lists [][]int) []map[int]bool {
	all := make([]map[int]bool, len(lists))
	for u, list := range lists {
		all[u] = map[int]bool{}
		for _, v := range list {
			all[u][v] = u != v
		}
		delete(all[u], u)
	}
	return all
}

// CDLP returns the labels after some iterations of LDBC Graphalytics' label propagation. The first
// label of vertex v is v.
func CDLP(g Graph, iterations int) []int {
	label := make([]int, g.N)
	for v := range label {
		label[v] = v
	}
	for range iterations {
		next := slices.Clone(label)
		for u, list := range g.both() {
			count, best := map[int]int{}, 0
			for _, v := range list {
				count[label[v]]++
			}
			for l, n := range count {
				if n > best || n == best && l < next[u] {
					best, next[u] = n, l
				}
			}
		}
		label = next
	}
	return label
}

// LCC returns the local clustering coefficients: the share of the ordered pairs of a vertex's
// neighbours that an arc joins.
func LCC(g Graph) []float64 {
	out := make([][]int, g.N)
	for u, arcs := range g.out() {
		for _, a := range arcs {
			out[u] = append(out[u], a.to)
		}
	}
	arc, lcc := sets(out), make([]float64, g.N)
	for v, near := range sets(g.both()) {
		joined := 0
		for a := range near {
			for b := range near {
				if a != b && arc[a][b] {
					joined++
				}
			}
		}
		if d := len(near); d > 1 {
			lcc[v] = float64(joined) / float64(d*(d-1))
		}
	}
	return lcc
}

// Triangles returns the number of triangles of each vertex: sets of three vertices in which an arc
// of either direction joins every two.
func Triangles(g Graph) []int64 {
	near, n := sets(g.both()), make([]int64, g.N)
	for v := range near {
		for a := range near[v] {
			for b := range near[v] {
				if a < b && near[a][b] {
					n[v]++
				}
			}
		}
	}
	return n
}

// Cores returns the core number of each vertex: the greatest k such that the vertex is in a part of
// the graph in which every vertex has k arcs, of either direction, to vertices of the part.
func Cores(g Graph) []int64 {
	near, core := g.both(), make([]int64, g.N)
	in := slices.Repeat([]bool{true}, g.N)
	for k, left := int64(1), g.N; left > 0; k++ {
		for again := true; again; {
			again = false
			for v := range near {
				n := int64(0)
				for _, u := range near[v] {
					if in[u] {
						n++
					}
				}
				if in[v] && n < k {
					in[v], again, core[v] = false, true, k-1
					left--
				}
			}
		}
	}
	return core
}

// SCC returns the least vertex of each vertex's strongly connected component.
func SCC(g Graph) []int {
	arcs := g.out()
	reach := func(from int) []bool {
		seen := make([]bool, g.N)
		seen[from] = true
		for todo := []int{from}; len(todo) > 0; {
			u := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, a := range arcs[u] {
				if !seen[a.to] {
					seen[a.to] = true
					todo = append(todo, a.to)
				}
			}
		}
		return seen
	}
	all, component := make([][]bool, g.N), make([]int, g.N)
	for v := range all {
		all[v] = reach(v)
	}
	for v := range component {
		for component[v] = 0; !all[v][component[v]] || !all[component[v]][v]; component[v]++ {
		}
	}
	return component
}
