package verify

import "math"

// unreached is the level of unreached vertices.
const unreached = math.MaxInt64

// BFS checks the parents of a breadth-first search along arcs. The parent of an unreached vertex is
// -1. The level of a vertex is the number of steps from parent to parent to the source.
//
//   - source: the source is its own parent;
//   - tree: every parent is a vertex, and leads to the source;
//   - parent: there is an arc from each vertex's parent to the vertex;
//   - reach: no arc leads from a reached vertex to an unreached one;
//   - level: no arc skips a level, so no path is shorter than the tree's.
func BFS(g Graph, source int, parent []int64) error {
	if err := g.fits(len(parent), "parents"); err != nil {
		return err
	}
	if err := g.fitsSource(source); err != nil {
		return err
	}
	if parent[source] != int64(source) {
		return violation("source", "the parent of source %d is not itself", g.name(source))
	}
	g = g.passes(1)
	level, broken := climb(g, source, parent)
	if broken != nil {
		return broken
	}
	joined, err := g.scanLevels(level, func(u, v uint64) bool { return parent[v] == int64(u) })
	if err != nil {
		return err
	}
	for v, p := range parent {
		if p >= 0 && v != source && !joined.has(uint64(v)) {
			return violation("parent", "no arc leads from %d to %d, whose parent it is",
				g.name(int(p)), g.name(v))
		}
	}
	return nil
}

// Levels checks the levels of a breadth-first search along arcs. The level of an unreached vertex
// is math.MaxInt64.
//
//   - source: only the source is at level 0;
//   - range: no level is negative;
//   - reach: no arc leads from a reached vertex to an unreached one;
//   - level: no arc skips a level;
//   - parent: an arc from the level before leads to each vertex, so a path of this length exists.
func Levels(g Graph, source int, level []int64) error {
	if err := g.fits(len(level), "levels"); err != nil {
		return err
	}
	if err := g.fitsSource(source); err != nil {
		return err
	}
	for v, l := range level {
		switch {
		case l < 0:
			return violation("range", "vertex %d is at level %d", g.name(v), l)
		case (l == 0) != (v == source):
			return violation("source", "vertex %d is at level %d, and the source is %d", g.name(v),
				l, g.name(source))
		}
	}
	g = g.passes(1)
	joined, err := g.scanLevels(level, func(_, _ uint64) bool { return true })
	if err != nil {
		return err
	}
	for v, l := range level {
		if l != unreached && v != source && !joined.has(uint64(v)) {
			return violation("parent",
				"no arc leads to vertex %d, at level %d, from the level before", g.name(v), l)
		}
	}
	return nil
}

// scanLevels checks the rules reach and level. It returns the heads of the arcs to the next level
// for which tree returns true.
func (g Graph) scanLevels(level []int64, tree func(u, v uint64) bool) (marks, error) {
	joined := newMarks(g.Vertices)
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			v := a.to[i]
			from, to := level[u], level[v]
			switch {
			case from == unreached || to <= from:
			case to == from+1:
				if !joined.has(v) && tree(u, v) {
					joined.add(v)
				}
			case to == unreached:
				return violation("reach",
					"an arc leads from %d, which is reached, to %d, which is not", g.name(int(u)),
					g.name(int(v)))
			default:
				return violation("level", "an arc leads from %d, at level %d, to %d, at level %d",
					g.name(int(u)), from, g.name(int(v)), to)
			}
		}
		return nil
	})
	return joined, err
}

// climb returns the levels of all vertices from their parents. It follows parents up to a vertex
// with a known level, and then again to set the levels on the way, so it visits every vertex at
// most twice.
func climb(g Graph, source int, parent []int64) ([]int64, *Violation) {
	const unknown = -1
	n := int64(len(parent))
	level := make([]int64, n)
	for v, p := range parent {
		switch {
		case p == -1:
			level[v] = unreached
		case p < 0 || p >= n:
			return nil, violation("tree", "the parent of vertex %d is %d, which is no vertex",
				g.name(v), p)
		default:
			level[v] = unknown
		}
	}
	level[source] = 0
	for v := range parent {
		steps, at := int64(0), int64(v)
		for ; level[at] == unknown; steps++ {
			if steps == n {
				return nil, violation("tree",
					"the ancestors of vertex %d are on a cycle, vertex %d among them", g.name(v),
					g.name(int(at)))
			}
			at = parent[at]
		}
		if steps > 0 && level[at] == unreached {
			return nil, violation("tree", "vertex %d is reached, and its ancestor %d is not",
				g.name(v), g.name(int(at)))
		}
		known := level[at]
		for at = int64(v); steps > 0; steps-- {
			level[at] = known + steps
			at = parent[at]
		}
	}
	return level, nil
}
