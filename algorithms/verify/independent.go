package verify

import "math/bits"

// MIS checks a maximal independent set. Arcs count in either direction, and loops do not count:
//
//   - independent: no arc joins two members;
//   - maximal: every other vertex has an arc to or from a member.
func MIS(g Graph, member []bool) error {
	if err := g.fits(len(member), "values"); err != nil {
		return err
	}
	g = g.passes(1)
	g.Directed = true // one direction is enough
	near := newMarks(g.Vertices)
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			switch v := a.to[i]; {
			case u == v:
			case member[u] && member[v]:
				return violation("independent", "an edge joins the members %d and %d",
					g.name(int(u)), g.name(int(v)))
			case member[u]:
				near.add(v)
			case member[v]:
				near.add(u)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for v, in := range member {
		if !in && !near.has(uint64(v)) {
			return violation("maximal", "vertex %d is no member, and no neighbour of it is",
				g.name(v))
		}
	}
	return nil
}

// Coloring checks colors. Arcs count in either direction, and loops do not count:
//
//   - range: colors are 0 or more;
//   - proper: no arc joins two vertices of the same color;
//   - least: a vertex of color c has neighbours of all colors below c, as after a greedy algorithm.
func Coloring(g Graph, color []int64) error {
	if err := g.fits(len(color), "colors"); err != nil {
		return err
	}
	for v, c := range color {
		if c < 0 {
			return violation("range", "vertex %d has color %d", g.name(v), c)
		}
	}
	near, err := g.adjacency(bothWays, simple)
	if err != nil {
		return err
	}
	var seen []uint64
	for v, c := range color {
		list := near.of(v)
		if c > int64(len(list)) {
			return violation("least", "vertex %d has color %d and %d neighbours", g.name(v), c,
				len(list))
		}
		seen = append(seen[:0], make([]uint64, c/64+1)...)
		for _, u := range list {
			if d := color[u]; d == c {
				return violation("proper", "an edge joins vertices %d and %d, both of color %d",
					g.name(v), g.name(int(u)), c)
			} else if d < c {
				seen[d/64] |= 1 << (d % 64)
			}
		}
		below := int64(0)
		for _, word := range seen {
			below += int64(bits.OnesCount64(word))
		}
		if below != c {
			return violation("least",
				"vertex %d has color %d and neighbours of only %d colors below", g.name(v), c,
				below)
		}
	}
	return nil
}

// Matching checks a maximal matching. Arcs count in either direction. The partner of an unmatched
// vertex is -1:
//
//   - partner: partners are other vertices, and the partner of a vertex's partner is the vertex;
//   - edge: an arc joins a vertex and its partner;
//   - maximal: no arc except loops joins two unmatched vertices.
func Matching(g Graph, partner []int64) error {
	if err := g.fits(len(partner), "partners"); err != nil {
		return err
	}
	for v, p := range partner {
		if p < -1 || p >= int64(len(partner)) || p == int64(v) {
			return violation("partner", "the partner of vertex %d is %d", g.name(v), p)
		}
		if p >= 0 && partner[p] != int64(v) {
			return violation("partner", "the partner of vertex %d is %d, which has another",
				g.name(v), g.name(int(p)))
		}
	}
	g = g.passes(1)
	g.Directed = true // one direction is enough
	joined := newMarks(g.Vertices)
	err := g.scan(func(a arcs) *Violation {
		for i, u := range a.from {
			switch v := a.to[i]; {
			case u == v:
			case partner[u] == int64(v):
				joined.add(u)
				joined.add(v)
			case partner[u] < 0 && partner[v] < 0:
				return violation("maximal",
					"an edge joins vertices %d and %d, and neither has a partner", g.name(int(u)),
					g.name(int(v)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for v, p := range partner {
		if p >= 0 && !joined.has(uint64(v)) {
			return violation("edge", "no edge joins vertex %d and its partner %d", g.name(v),
				g.name(int(p)))
		}
	}
	return nil
}
