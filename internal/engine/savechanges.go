package engine

import (
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/wire"
)

// saveChanges adds the changes of the graph, as differences from the loaded arcs, and the requests
// that are not yet carried out.
func (r *saver) saveChanges(p *checkpoint.Part) error {
	if r.part != r.loaded {
		r.saveGraph(p)
	}
	list, values := r.pendingRequests()
	if len(list) == 0 {
		return nil
	}
	data, err := r.changing.codec.Encode(0, list, values)
	p.Add(sectionRequests, data)
	return err
}

func (r *saver) saveGraph(p *checkpoint.Part) {
	c := &r.changing
	counts := wire.Bytes([]uint64{c.ids, c.vertices, c.arcs})
	absent := make([]uint64, bitmap.Words(r.part.Owned))
	copy(absent, c.absent)
	remove, add := r.part.Difference(r.loaded)
	p.Add(sectionCounts, counts)
	p.Add(sectionAbsent, wire.Bytes(absent))
	p.Add(sectionRemoved, packArcs(remove))
	p.Add(sectionAdded, packArcs(add))
	if r.job.graph.Weights == edges.Unweighted {
		return
	}
	weights := make([]float64, len(add))
	for i, a := range add {
		weights[i] = a.Weight
	}
	p.Add(sectionWeights, wire.Bytes(weights))
}

// packArcs returns the ends of arcs, 4 bytes each as in lists.
func packArcs(arcs []graph.Arc) []byte {
	ends := make([][2]uint32, len(arcs))
	for i, a := range arcs {
		ends[i] = [2]uint32{uint32(a.From), uint32(a.To)}
	}
	return wire.Bytes(ends)
}
