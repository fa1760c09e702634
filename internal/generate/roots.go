package generate

// Roots returns up to count distinct search keys for which eligible is true: vertices with an edge
// that is no loop. They are the official generator's, in its order, as long as it finds any; after
// as many draws as there are vertices both give up. The official one then repeats what it drew
// last; here the roots are fewer, as the specification wants.
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

// RootsOf is Roots for who answers of many vertices at once, or fails. It asks of more than it will
// take.
func (g Kronecker) RootsOf(count int, eligible func(batch []uint64) ([]bool,
	error),
) ([]uint64, error) {
	n := g.Vertices()
	s := seeded(g.Seed1, g.Seed2).skip(2, 0, 0)
	var roots []uint64
	seen := make(map[uint64]bool) // drawn, and asked of
	for draws := uint64(0); draws < n && len(roots) < count; {
		var batch []uint64
		for ; draws < n && len(batch) < 2*(count-len(roots)); draws++ {
			d0 := s.unit()
			d1 := s.unit()
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

// unit returns a number in [0, 1] made of two outputs. The conversions keep the products from being
// fused with the sum, which would round differently.
func (s *state) unit() float64 {
	x := float64(s.next())
	y := float64(s.next())
	return float64(x*4.65661287524579692e-10) + float64(y*2.168404344990492787e-19)
}
