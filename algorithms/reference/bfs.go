package reference

import "math"

// BFSLevels returns the number of arcs on a shortest path from source to each vertex, or
// math.MaxInt64 if there is no path.
func BFSLevels(g Graph, source int) []int64 {
	out := g.out()
	level := make([]int64, g.N)
	for v := range level {
		level[v] = math.MaxInt64
	}
	level[source] = 0
	queue := []int{source}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for _, a := range out[u] {
			if level[a.to] == math.MaxInt64 {
				level[a.to] = level[u] + 1
				queue = append(queue, a.to)
			}
		}
	}
	return level
}
