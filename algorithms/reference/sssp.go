package reference

import (
	"container/heap"
	"math"
)

// SSSP returns the length of a shortest path from source to each vertex, or +Inf if there is none
// (Dijkstra, 1959). Weights must not be negative. Rounding is monotone, so each length is the least
// over all paths when added up from the source. It does not depend on the order of computation, and
// can be compared exactly.
func SSSP(g Graph, source int) []float64 { return dijkstra[float64](g, source) }

// SSSP32 is SSSP with every weight and every sum rounded to single precision.
func SSSP32(g Graph, source int) []float32 { return dijkstra[float32](g, source) }

func dijkstra[W float32 | float64](g Graph, source int) []W {
	out := g.out()
	dist := make([]W, g.N)
	for v := range dist {
		dist[v] = W(math.Inf(1))
	}
	dist[source] = 0
	todo := &queue[W]{{source, 0}}
	for todo.Len() > 0 {
		u := heap.Pop(todo).(entry[W])
		if u.dist > dist[u.vertex] {
			continue // a shorter path was found since
		}
		for _, a := range out[u.vertex] {
			if d := W(u.dist + W(a.weight)); d < dist[a.to] {
				dist[a.to] = d
				heap.Push(todo, entry[W]{a.to, d})
			}
		}
	}
	return dist
}

type entry[W float32 | float64] struct {
	vertex int
	dist   W
}

type queue[W float32 | float64] []entry[W]

func (q queue[W]) Len() int           { return len(q) }
func (q queue[W]) Less(i, j int) bool { return q[i].dist < q[j].dist }
func (q queue[W]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue[W]) Push(x any)        { *q = append(*q, x.(entry[W])) }
func (q *queue[W]) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
