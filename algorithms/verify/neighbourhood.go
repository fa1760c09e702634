package verify

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/parallel"
)

// CDLP checks the labels after a number of iterations of LDBC Graphalytics' label propagation, in
// which the first label of a vertex is its input id. It computes them with lists of neighbours, and
// sorts the labels around each vertex:
//
//   - label: each vertex has the computed label.
func CDLP(g Graph, iterations int, label []uint64) error {
	if err := g.fits(len(label), "labels"); err != nil {
		return err
	}
	near, err := g.adjacency(bothWays, multigraph)
	if err != nil {
		return err
	}
	now, next := make([]uint64, g.Vertices), make([]uint64, g.Vertices)
	for v := range now {
		now[v] = g.name(v)
	}
	for changed := true; iterations > 0 && changed; iterations-- {
		if err := g.stopped(); err != nil {
			return err
		}
		var differ atomic.Bool
		g.Team.For(g.Vertices, 1<<8, func(_, lo, hi int) {
			var around []uint64
			for v := lo; v < hi; v++ {
				around = around[:0]
				for _, u := range near.of(v) {
					around = append(around, now[u])
				}
				slices.Sort(around)
				next[v] = now[v]
				for i, best := 0, 0; i < len(around); {
					j := i
					for j < len(around) && around[j] == around[i] {
						j++
					}
					if j-i > best {
						best, next[v] = j-i, around[i]
					}
					i = j
				}
				if next[v] != now[v] {
					differ.Store(true)
				}
			}
		})
		now, next, changed = next, now, differ.Load()
	}
	for v, l := range label {
		if l != now[v] {
			return violation("label", "vertex %d has label %d, and by another count %d", g.name(v),
				l, now[v])
		}
	}
	return nil
}

// LCC checks local clustering coefficients as LDBC Graphalytics defines them. It marks the
// neighbours of each vertex, and counts the arcs between marked vertices:
//
//   - coefficient: it is the number of these arcs divided by the number of pairs, within rounding.
func LCC(g Graph, lcc []float64) error {
	if err := g.fits(len(lcc), "coefficients"); err != nil {
		return err
	}
	g = g.passes(4)
	out, err := g.adjacency(outward, simple)
	if err != nil {
		return err
	}
	near, err := g.adjacency(bothWays, simple)
	if err != nil {
		return err
	}
	return g.eachNeighbourhood(near, out, func(v int, joined int64) *Violation {
		want, d := 0.0, float64(len(near.of(v)))
		if d > 1 {
			want = float64(joined) / (d * (d - 1))
		}
		if !(math.Abs(lcc[v]-want) <= rounding*want) {
			return violation("coefficient",
				"vertex %d has coefficient %g: %d arcs join its %g neighbours, which makes %g",
				g.name(v), lcc[v], joined, d, want)
		}
		return nil
	})
}

// Triangles checks the number of triangles of each vertex. It ignores loops, parallel arcs and
// directions:
//
//   - triangles: the number is half the number of arcs between the vertex's neighbours.
func Triangles(g Graph, triangles []int64) error {
	if err := g.fits(len(triangles), "numbers of triangles"); err != nil {
		return err
	}
	near, err := g.passes(2).adjacency(bothWays, simple)
	if err != nil {
		return err
	}
	return g.eachNeighbourhood(near, near, func(v int, joined int64) *Violation {
		if triangles[v] != joined/2 {
			return violation("triangles",
				"vertex %d is in %d triangles, and %d edges join its neighbours", g.name(v),
				triangles[v], joined/2)
		}
		return nil
	})
}

// eachNeighbourhood calls check for every vertex with the number of arcs of out between its
// neighbours. For each pair it looks at the shorter list: it looks for the neighbour's arcs among
// the marks, or for the vertex's neighbours among the neighbour's arcs.
func (g Graph) eachNeighbourhood(
	near, out adjacency, check func(v int, joined int64) *Violation,
) error {
	var least parallel.First
	marks := make([][]bool, g.Team.Size())
	g.Team.For(g.Vertices, 64, func(worker, lo, hi int) {
		if marks[worker] == nil {
			marks[worker] = make([]bool, g.Vertices)
		}
		mark := marks[worker]
		if err := g.stopped(); err != nil {
			least.Report(lo, err)
			return
		}
		for v := lo; v < hi && !least.Before(v); v++ {
			list, joined := near.of(v), int64(0)
			for _, u := range list {
				mark[u] = true
			}
			for _, u := range list {
				if arcs := out.of(int(u)); len(arcs) < 16*len(list) {
					for _, w := range arcs {
						if mark[w] {
							joined++
						}
					}
					continue
				}
				for _, w := range list {
					if out.has(int(u), w) {
						joined++
					}
				}
			}
			for _, u := range list {
				mark[u] = false
			}
			if broken := check(v, joined); broken != nil {
				least.Report(v, broken)
			}
		}
	})
	return least.Err()
}
