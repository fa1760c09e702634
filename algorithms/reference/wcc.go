package reference

// WCC returns the least vertex of each vertex's component. It ignores the directions of arcs.
func WCC(g Graph) []int {
	g.Directed = false
	out := g.out()
	component := make([]int, g.N)
	for v := range component {
		component[v] = -1
	}
	for v := range component {
		if component[v] >= 0 {
			continue
		}
		component[v] = v
		for stack := []int{v}; len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, a := range out[u] {
				if component[a.to] < 0 {
					component[a.to] = v
					stack = append(stack, a.to)
				}
			}
		}
	}
	return component
}
