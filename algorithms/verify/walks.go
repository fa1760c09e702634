package verify

// Walks checks random walks, of each vertex those that start there, with the vertices in their order:
//
//   - number: there are as many from every vertex as there should be;
//   - start: each starts at its vertex;
//   - step: each step goes along an edge;
//   - length: a walk has so many steps, or ends at a vertex without out-edges.
func Walks(g Graph, number, length int, walks [][][]uint64) error {
	if err := g.fits(len(walks), "lists of walks"); err != nil {
		return err
	}
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	for v, all := range walks {
		if len(all) != number {
			return violation("number", "%d walks start at vertex %d, expected %d", len(all), g.name(v), number)
		}
		for _, walk := range all {
			if len(walk) == 0 || walk[0] != uint64(v) {
				return violation("start", "a walk of vertex %d starts elsewhere", g.name(v))
			}
			for i, to := range walk[1:] {
				if from := int(walk[i]); !out.has(from, uint32(to)) {
					return violation("step", "a walk of vertex %d goes from %d to %d, where there is no edge", g.name(v), g.name(from), g.name(int(to)))
				}
			}
			last := int(walk[len(walk)-1])
			if steps := len(walk) - 1; steps > length || steps < length && len(out.of(last)) > 0 {
				return violation("length", "a walk of vertex %d has %d steps, expected %d", g.name(v), steps, length)
			}
		}
	}
	return nil
}
