package verify

import (
	"math"
	"sync"
)

// SSSP checks the lengths of shortest paths along arcs; +Inf means unreached. A length is that of a
// shorter path plus the weight of one arc, rounded. So there is only one way to add it up, and no
// tolerance. A length that overflows is an error.
//
//   - source: the source is at distance 0;
//   - range: no distance is negative or NaN;
//   - weight: no weight is negative or NaN, because the check would prove nothing;
//   - reach: no arc leads from a reached vertex to an unreached one;
//   - shorter: no arc makes a path shorter;
//   - tight: tight arcs, which make up a distance exactly, lead from the source to each reached
//     vertex, so paths of these lengths exist. They come from lesser distances, or, if a weight is
//     0 or lost in rounding, from equal ones without forming a cycle.
func SSSP(g Graph, source int, dist []float64) error {
	if err := g.fits(len(dist), "distances"); err != nil {
		return err
	}
	if err := g.fitsSource(source); err != nil {
		return err
	}
	if dist[source] != 0 {
		return violation("source", "source %d is at distance %g", g.name(source), dist[source])
	}
	for v, d := range dist {
		if !(d >= 0) {
			return violation("range", "vertex %d is at distance %g", g.name(v), d)
		}
	}
	g = g.passes(1)
	anchored := newMarks(g.Vertices)
	anchored.add(uint64(source))
	check := func(a arcs) *Violation { return g.checkDistances(a, dist, anchored) }
	if err := g.scan(check); err != nil {
		return err
	}
	if _, left := loose(dist, anchored); !left {
		return nil
	}
	if err := g.anchorEqual(dist, anchored); err != nil {
		return err
	}
	if v, left := loose(dist, anchored); left {
		return violation("tight", "no arcs from the source to vertex %d make up its distance %g",
			g.name(v), dist[v])
	}
	return nil
}

// checkDistances checks the rules that a single arc can break. It anchors vertices that have a
// tight arc from a lesser distance.
func (g Graph) checkDistances(a arcs, dist []float64, anchored marks) *Violation {
	for i, u := range a.from {
		v, w := a.to[i], a.weight[i]
		if !(w >= 0) {
			return violation("weight", "the arc from %d to %d weighs %g", g.name(int(u)),
				g.name(int(v)), w)
		}
		from, to, sum := dist[u], dist[v], dist[u]+w
		if to > sum || math.IsInf(sum, 1) && !math.IsInf(from, 1) {
			if math.IsInf(to, 1) {
				return violation("reach",
					"an arc leads from %d, at distance %g, to %d, which is not reached",
					g.name(int(u)), from, g.name(int(v)))
			}
			return violation("shorter",
				"an arc of weight %g leads from %d, at distance %g, to %d, at distance %g",
				w, g.name(int(u)), from, g.name(int(v)), to)
		}
		if from < to && tight(sum, to) && !anchored.has(v) {
			anchored.add(v)
		}
	}
	return nil
}

// tight reports whether an arc is tight: sum, the length of the path that ends with it, equals the
// distance to.
func tight(sum, to float64) bool { return to == sum && !math.IsInf(sum, 1) }

// loose returns the first reached vertex that is not anchored.
func loose(dist []float64, anchored marks) (int, bool) {
	for v, d := range dist {
		if !math.IsInf(d, 1) && !anchored.has(uint64(v)) {
			return v, true
		}
	}
	return 0, false
}

// anchorEqual anchors the vertices that tight arcs between equal distances reach from anchored
// vertices.
func (g Graph) anchorEqual(dist []float64, anchored marks) error {
	var mu sync.Mutex
	next := map[uint64][]uint64{}
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			v := a.to[i]
			if dist[u] == dist[v] && !anchored.has(v) && tight(dist[u]+a.weight[i], dist[v]) {
				mu.Lock()
				next[u] = append(next[u], v)
				mu.Unlock()
			}
		}
		return nil
	})
	var todo []uint64
	for u := range next {
		if anchored.has(u) {
			todo = append(todo, u)
		}
	}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, v := range next[u] {
			if !anchored.has(v) {
				anchored.add(v)
				todo = append(todo, v)
			}
		}
	}
	return err
}
