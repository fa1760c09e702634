package superstep

import (
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/edges"
)

// fromEdges numbers the vertices of a list by rising id.
func fromEdges(list []Edge, o LoadOptions) (*edges.Input, error) {
	ids := make([]uint64, 0, 2*len(list))
	weighted := false
	for _, e := range list {
		if w := float64(float32(e.Weight)); math.IsNaN(e.Weight) || math.IsInf(e.Weight, 0) || o.Weights == Float32 && math.IsInf(w, 0) {
			return nil, fmt.Errorf("superstep: the edge from %d to %d has weight %v, want a finite number", e.From, e.To, e.Weight)
		}
		ids = append(ids, e.From, e.To)
		weighted = weighted || e.Weight != 0
	}
	ids = append(ids, o.Vertices...)
	slices.Sort(ids)
	ids = slices.Clip(slices.Compact(ids))
	labels := edges.NewLabels(ids)
	tuples := make([][2]uint64, len(list))
	var weights []float64
	if weighted || o.Weights == Float64 || o.Weights == Float32 {
		weights = make([]float64, len(list))
	}
	for i, e := range list {
		u, _ := labels.Find(e.From, len(ids))
		v, _ := labels.Find(e.To, len(ids))
		tuples[i] = [2]uint64{u, v}
		if weights != nil {
			weights[i] = e.Weight
		}
	}
	packed := edges.Pack(uint64(len(ids)), tuples, weights)
	return &edges.Input{
		Name: "edges", Edges: packed, Vertices: len(ids), Labels: labels, Directed: o.Kind != Undirected,
		Account: []string{fmt.Sprintf("%d edges in memory, %d vertices", len(list), len(ids))}, Free: packed.Close,
	}, nil
}
