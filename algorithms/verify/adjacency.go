package verify

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// direction selects the arcs of a vertex in an adjacency.
type direction uint8

const (
	outward direction = iota // arcs that leave the vertex
	inward                   // arcs that enter the vertex
	// both, one after the other, as with pregel.Both: a directed loop counts twice
	bothWays
)

// adjacency has the arcs of a graph by vertex, for checks that need neighbours, not the list of
// tuples.
type adjacency struct {
	start  []int    // arcs of v are start[v] to start[v+1]
	to     []uint32 // ascending within each vertex
	weight []float64
}

// arcsOf selects the arcs that an adjacency keeps.
type arcsOf uint8

const (
	multigraph arcsOf = iota // all arcs
	weighted                 // all arcs with their weights; parallel arcs are ordered by weight
	simple                   // no loops, and one of parallel arcs
)

// of returns the neighbours of a vertex in ascending order.
func (a adjacency) of(v int) []uint32 { return a.to[a.start[v]:a.start[v+1]] }

// weights returns the weights of the arcs to of(v).
func (a adjacency) weights(v int) []float64 { return a.weight[a.start[v]:a.start[v+1]] }

// has reports whether there is an arc from u to v.
func (a adjacency) has(u int, v uint32) bool {
	_, found := slices.BinarySearch(a.of(u), v)
	return found
}

// adjacency builds the adjacency of the arcs in a direction, which does not matter in an undirected
// graph. It looks at every tuple twice; passes must count that.
func (g Graph) adjacency(d direction, what arcsOf) (adjacency, error) {
	if g.looked == nil {
		g = g.passes(2)
	}
	a := adjacency{start: make([]int, g.Vertices+1)}
	next := make([]atomic.Int64, g.Vertices)
	each := func(use func(u, v uint64, w float64)) error {
		return g.scan(func(all arcs) *Violation {
			for i, u := range all.from {
				v, w := all.to[i], all.weight[i]
				if u == v && (what == simple || all.back) {
					continue // an undirected loop is one arc
				}
				if d != inward || !g.Directed {
					use(u, v, w)
				}
				if d != outward && g.Directed {
					use(v, u, w)
				}
			}
			return nil
		})
	}
	if err := each(func(u, _ uint64, _ float64) { next[u].Add(1) }); err != nil {
		return a, err
	}
	for v := range next {
		a.start[v+1] = a.start[v] + int(next[v].Load())
		next[v].Store(int64(a.start[v]))
	}
	a.to = make([]uint32, a.start[g.Vertices])
	if what == weighted {
		a.weight = make([]float64, len(a.to))
	}
	err := each(func(u, v uint64, w float64) {
		i := next[u].Add(1) - 1
		if a.to[i] = uint32(v); what == weighted {
			a.weight[i] = w
		}
	})
	if err != nil {
		return a, err
	}
	g.Team.For(g.Vertices, 1<<10, func(_, lo, hi int) {
		for v := lo; v < hi; v++ {
			a.sort(v)
		}
	})
	if what == simple {
		a.compact()
	}
	return a, nil
}

func (a adjacency) sort(v int) {
	to := a.of(v)
	if a.weight == nil {
		slices.Sort(to)
		return
	}
	type arc struct {
		to     uint32
		weight float64
	}
	weight, list := a.weights(v), make([]arc, len(to))
	for i := range to {
		list[i] = arc{to[i], weight[i]}
	}
	slices.SortFunc(list, func(x, y arc) int {
		return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.weight, y.weight))
	})
	for i, x := range list {
		to[i], weight[i] = x.to, x.weight
	}
}

// compact removes all but one of parallel arcs.
func (a *adjacency) compact() {
	n, lo := 0, 0
	for v := range len(a.start) - 1 {
		list := slices.Compact(a.to[lo:a.start[v+1]])
		lo = a.start[v+1]
		n += copy(a.to[n:], list)
		a.start[v+1] = n
	}
	a.to = a.to[:n]
}
