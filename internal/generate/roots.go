package generate

// Roots returns up to count distinct roots for which eligible is true: vertices with an edge that
// is not a loop. They are the official generator's roots, in its order. Both give up after as many
// draws as there are vertices. The official generator then repeats its last draw; this one returns
// fewer roots, as the specification requires.
func (g Kronecker) Roots(count int, eligible func(v uint64) bool) []uint64 {
	roots, _ := g.RootsOf(count, func(batch []uint64) ([]bool, error) {
		good := make([]bool, len(batch))
		for i, v := range batch {
			good[i] = eligible(v)
		}
		return good, nil
	})
	return roots
}

// RootsOf is Roots with a function that checks many vertices at once, and may fail. It also checks
// vertices that are not taken.
func (g Kronecker) RootsOf(count int, eligible func(batch []uint64) ([]bool,
	error),
) ([]uint64, error) {
	n := g.Vertices()
	s := seeded(g.Seed1, g.Seed2).skip(2, 0, 0)
	var roots []uint64
	seen := make(map[uint64]bool) // drawn and checked
	for draws := uint64(0); draws < n && len(roots) < count; {
		var batch []uint64
		for ; draws < n && len(batch) < 2*(count-len(roots)); draws++ {
			d0, d1 := s.unit(), s.unit()
			if v := uint64((d0+d1)*float64(n)) % n; !seen[v] {
				seen[v] = true
				batch = append(batch, v)
			}
		}
		good, err := eligible(batch)
		if err != nil {
			return nil, err
		}
		for i, v := range batch {
			if good[i] && len(roots) < count {
				roots = append(roots, v)
			}
		}
	}
	return roots, nil
}

// unit returns a number in [0, 1] from two outputs. The conversions prevent a fused multiply-add,
// which would round differently.
func (s *state) unit() float64 {
	x, y := float64(s.next()), float64(s.next())
	return float64(x*4.65661287524579692e-10) + float64(y*2.168404344990492787e-19)
}
