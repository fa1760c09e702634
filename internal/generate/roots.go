package generate

// Roots returns up to count distinct search keys for which eligible is true: vertices with an edge that is no loop.
// They are the official generator's, in its order, as long as it finds any; after as many draws as there are vertices
// both give up. The official one then repeats what it drew last; here the roots are fewer, as the specification wants.
func (g Kronecker) Roots(count int, eligible func(v uint64) bool) []uint64 {
	n := g.Vertices()
	s := seeded(g.Seed1, g.Seed2).skip(2, 0, 0)
	var roots []uint64
	seen := make(map[uint64]bool)
	for draws := uint64(0); draws < n && len(roots) < count; draws++ {
		d0 := s.unit()
		d1 := s.unit()
		root := uint64((d0+d1)*float64(n)) % n
		if !seen[root] && eligible(root) {
			seen[root] = true
			roots = append(roots, root)
		}
	}
	return roots
}

// unit returns a number in [0, 1] made of two outputs. The conversions keep the products from being fused with the sum,
// which would round differently.
func (s *state) unit() float64 {
	x := float64(s.next())
	y := float64(s.next())
	return float64(x*4.65661287524579692e-10) + float64(y*2.168404344990492787e-19)
}
