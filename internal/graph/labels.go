package graph

import "github.com/superstep-go/superstep/pregel"

// added describes the vertices that were added after loading: the ids from first on have
// consecutive input ids from label on.
type added struct {
	first pregel.VertexID
	label uint64
}

// largestLabel returns the largest input id of the loaded vertices: of all or, if the graph has no
// maps, of the partition's vertices. some is false if there are none.
func (p *Partition) largestLabel() (some bool, largest uint64) {
	g := p.graph
	if g.Order != nil {
		if g.N == 0 {
			return false, 0
		}
		return true, g.Labels.Of(uint64(g.N - 1))
	}
	for _, label := range p.labels.wide {
		largest = max(largest, label)
	}
	for _, input := range p.labels.narrow {
		largest = max(largest, g.Labels.Of(uint64(input)))
	}
	return p.Owned > 0, largest
}
