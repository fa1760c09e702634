package verify

// Degrees checks the numbers of arcs that leave each vertex, that enter it, and the total, which in
// an undirected graph is the degree:
//
//   - degree: they equal the counts in the list of arcs.
func Degrees(g Graph, degrees [][3]int64) error {
	if err := g.fits(len(degrees), "degrees"); err != nil {
		return err
	}
	g = g.passes(4)
	out, err := g.adjacency(outward, multigraph)
	if err != nil {
		return err
	}
	in, err := g.adjacency(inward, multigraph)
	if err != nil {
		return err
	}
	for v, d := range degrees {
		want := [3]int64{int64(len(out.of(v))), int64(len(in.of(v)))}
		if want[2] = want[0]; g.Directed {
			want[2] += want[1]
		}
		if d != want {
			return violation("degree",
				"vertex %d has %d arcs out, %d in, %d in all, and by another count %d, %d, %d",
				g.name(v), d[0], d[1], d[2], want[0], want[1], want[2])
		}
	}
	return nil
}
