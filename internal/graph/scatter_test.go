package graph

import "github.com/superstep-go/superstep/internal/edges"

// putArcs puts arcs into the buckets. An arc is row << 32 | neighbour, by ids. The row must belong
// to a partition of this process. weights has the arcs' weights, if the graph has any.
func (s *Scatter) putArcs(arcs []uint64, weights WeightColumn) {
	st, block := s.stage(0), new(edges.Block)
	plan := s.Plan()
	for i, p := range s.a.g.Parts {
		if p == nil {
			plan.First[i] = nil
		}
	}
	d, err := NewBucketMap(s.a.g.N, s.a.g.Deal, plan)
	if err != nil {
		panic(err)
	}
	for len(arcs) > 0 {
		n := min(len(arcs), edges.BlockSize)
		for i, arc := range arcs[:n] {
			st.z[i], st.a[i] = uint32(arc>>32), uint32(arc)
		}
		arcs = arcs[n:]
		for i := range n {
			block.W[i] = weights.At(i)
		}
		weights = weights.Slice(n, max(len(weights.Single), len(weights.Double)))
		d.Locate(st.z[:n], st.a[:n], st.inZ[:n], st.arcZ[:n])
		s.put(st, block, 0, n, &st.inZ, &st.arcZ, false)
	}
}
