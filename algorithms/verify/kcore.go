package verify

// KCore checks core numbers. Arcs count in either direction, and each parallel arc counts. It
// removes one vertex at a time, always one with the fewest remaining arcs, from buckets by this
// number (Batagelj and Zaversnik 2003):
//
//   - core: each vertex has the computed core number.
func KCore(g Graph, core []int64) error {
	if err := g.fits(len(core), "core numbers"); err != nil {
		return err
	}
	want, _, err := g.cores()
	if err != nil {
		return err
	}
	for v, k := range core {
		if k != int64(want[v]) {
			return violation("core", "vertex %d has core number %d, and by another count %d",
				g.name(v), k, want[v])
		}
	}
	return nil
}

// InCore checks, for each vertex of the k-core, the number of its arcs to others of the core; 0
// means not in the core:
//
//   - core: the vertices with a number are those whose core number is at least k;
//   - neighbours: the number is the count of arcs to such vertices.
func InCore(g Graph, k int64, neighbours []int64) error {
	if err := g.fits(len(neighbours), "numbers of neighbours"); err != nil {
		return err
	}
	core, near, err := g.cores()
	if err != nil {
		return err
	}
	for v, n := range neighbours {
		if (n != 0) != (int64(core[v]) >= k) {
			return violation("core",
				"vertex %d has %d neighbours in the %d-core, and its core number is %d", g.name(v),
				n, k, core[v])
		}
		want := int64(0)
		for _, u := range near.of(v) {
			if n != 0 && int64(core[u]) >= k {
				want++
			}
		}
		if n != want {
			return violation("neighbours",
				"vertex %d has %d neighbours in the %d-core, and by another count %d", g.name(v), n,
				k, want)
		}
	}
	return nil
}

// cores returns the core number of each vertex, and the arcs of either direction.
func (g Graph) cores() ([]int, adjacency, error) {
	near, err := g.adjacency(bothWays, multigraph)
	if err != nil {
		return nil, near, err
	}
	// core[v] is first the number of arcs from v to remaining vertices
	core, most := make([]int, g.Vertices), 0
	for v := range core {
		core[v] = len(near.of(v))
		most = max(most, core[v])
	}
	// start[d] is where the vertices with d arcs begin in order; place is the inverse of order.
	start, order, place := make([]int, most+2), make([]int, g.Vertices), make([]int, g.Vertices)
	for _, d := range core {
		start[d+1]++
	}
	for d := range most + 1 {
		start[d+1] += start[d]
	}
	next := append([]int{}, start...)
	for v, d := range core {
		order[next[d]], place[v] = v, next[d]
		next[d]++
	}
	for i := range order {
		if i%(1<<16) == 0 {
			if err := g.stopped(); err != nil {
				return nil, near, err
			}
		}
		v := order[i]
		for _, u := range near.of(v) {
			// u moves to the bucket below, in the place of that one's successor
			if core[u] > core[v] {
				d := core[u]
				first := order[start[d]]
				order[start[d]], order[place[u]] = int(u), first
				place[first], place[u] = place[u], start[d]
				start[d]++
				core[u]--
			}
		}
	}
	return core, near, nil
}
