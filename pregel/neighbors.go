package pregel

import "iter"

// Neighbors yields the ids of the vertices at the other ends of [Vertex.Edges], in its order: one that parallel edges lead to comes as often.
func (v *cursor) Neighbors() iter.Seq[VertexID] {
	edges := v.Edges()
	return func(yield func(VertexID) bool) {
		for e := range edges {
			if !yield(e.To) {
				return
			}
		}
	}
}
