package engine

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/wire"
)

// saveChanges adds what the graph has become, as arcs that differ from those that were loaded, and the requests that are to be carried out.
func (r *runner) saveChanges(p *checkpoint.Part) error {
	if r.part != r.loaded {
		r.saveGraph(p)
	}
	var list []kernel.Request
	values := r.instance.Values().New(nil)
	for _, t := range r.threads {
		if t.requests == nil {
			continue
		}
		for _, q := range t.requests.List {
			if q.Kind == kernel.AddVertex {
				values.AppendAt(t.AddedValues(), []uint32{q.Value})
				q.Value = uint32(values.Len() - 1)
			}
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		return nil
	}
	data, err := r.changing.codec.encode(0, list, values)
	p.Add(sectionRequests, data)
	return err
}

func (r *runner) saveGraph(p *checkpoint.Part) {
	c := &r.changing
	var counts []byte
	for _, n := range []uint64{c.ids, c.vertices, c.arcs} {
		counts = binary.LittleEndian.AppendUint64(counts, n)
	}
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
	weights := make([]byte, 0, 8*len(add))
	for _, a := range add {
		weights = binary.LittleEndian.AppendUint64(weights, math.Float64bits(a.Weight))
	}
	p.Add(sectionWeights, weights)
}

// packArcs returns the ends of arcs, which have 4 bytes as in lists.
func packArcs(arcs []graph.Arc) []byte {
	b := make([]byte, 0, 8*len(arcs))
	for _, a := range arcs {
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, uint32(a.From)), uint32(a.To))
	}
	return slices.Clip(b)
}
