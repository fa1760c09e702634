package engine_test

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
)

// TestHubsLeaveOthersTheirPush: messages of other senders than a hub are delivered, even if the
// number of edges to push is an estimate that may equal the number of the hub's edges.
func TestHubsLeaveOthersTheirPush(t *testing.T) {
	for k := range 16 {
		if raced && k%5 > 0 {
			continue
		}
		leaves := 4_000 + k%2 // leaves of the hub, vertex 0, that are not linked to each other
		s := shape{name: "hub", n: leaves + 4}
		add := func(u, v uint64) { s.tuples, s.weights = append(s.tuples, [2]uint64{u, v}), append(s.weights, 1) }
		// The second sender has a lower number than the source, and is in another partition.
		second, source, last := uint64(1), uint64(s.n-2), uint64(s.n-1)
		distances := map[uint64]float64{source: 0, 0: 1, second: 1}
		add(source, 0)
		add(source, second)
		add(second, last)
		for pair := range k / 4 {
			u := uint64(10 + k/2%2 + 4*pair)
			add(u, u+2)
			distances[u], distances[u+2] = math.Inf(1), math.Inf(1)
		}
		for v := second + 1; v < source; v++ {
			if _, there := distances[v]; !there {
				add(0, v)
			}
		}
		for _, way := range []setting{
			{parts: 2, o: engine.Options{Delivery: delivery.ChooseMirrored}},
			{parts: 2, o: engine.Options{Delivery: delivery.ChooseLalp}},
			{
				parts: 4, grid: graph.Grid{Rows: 2, Columns: 2},
				o: engine.Options{Delivery: delivery.ChoosePush},
			},
		} {
			g := s.loadAs(t, way, edges.Float64)
			way.o.Sizes.SerialEdges = 512
			for _, way.threads = range []int{8, 16} {
				got, _ := run(t, g,
					algorithms.SSSP[float64]{Source: algorithms.ID(g.IDs[source])}, way)
				for v, d := range got {
					want, there := distances[uint64(v)]
					if !there {
						want = 2
					}
					if d != want {
						t.Errorf("%v, shape %d: vertex %d is at %v, want %v", way, k, v, d, want)
						break
					}
				}
			}
		}
	}
}
