package verify

import "math"

// unreached is the level of vertices that no path leads to.
const unreached = math.MaxInt64

// BFS checks the parents of a breadth-first search along arcs, where -1 is the parent of a vertex
// not reached. With the level of a vertex for the number of steps from it, parent by parent, to the
// source:
//
//   - source: the source is its own parent;
//   - tree: every parent is a vertex, and leads to the source;
//   - parent: there is an arc from the parent of each vertex to it;
//   - reach: no arc leads from a vertex of the tree to one out of it;
//   - level: no arc skips a level, so that no path is shorter than the tree's.
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

// Levels checks the levels of a breadth-first search along arcs, math.MaxInt64 for a vertex not
// reached:
//
//   - source: the source is at level 0, and it alone;
//   - range: no level is negative;
//   - reach: no arc leads from a vertex reached to one that is not;
//   - level: no arc skips a level;
//   - parent: an arc leads to each vertex from the level before, so that there is a path as short as it says.
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

// scanLevels checks the rules reach and level, and returns the heads of arcs that lead from one
// level to the next and that tree says are tree arcs.
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

// climb returns the levels that the parents amount to. Each vertex climbs to one whose level is
// known, and again to note the levels on the way, so that every vertex is passed twice at most.
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
