package engine_test

import (
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
)

// TestHubsLeaveOthersTheirPush: messages of senders beside a hub arrive, where the number of edges
// to push is an estimate that the hub's edges may come to.
func TestHubsLeaveOthersTheirPush(t *testing.T) {
	for k := range 12 {
		leaves, second := 40_000+k%4, uint64(2+k) // a sender beside the hub, vertex 0
		s := shape{name: "hub", n: leaves + 4}
		add := func(u, v uint64) { s.tuples, s.weights = append(s.tuples, [2]uint64{u, v}), append(s.weights, 1) }
		last := uint64(s.n - 1)
		far := map[uint64]float64{1: 0, 0: 1, second: 1}
		add(1, 0)
		add(1, second)
		add(second, last)
		for v := range last {
			if _, there := far[v]; !there {
				add(0, v)
			}
		}
		for _, way := range []setting{
			{parts: 2, o: engine.Options{Delivery: delivery.ChooseMirrored}},
			{
				parts: 4, grid: graph.Grid{Rows: 2, Columns: 2},
				o: engine.Options{Delivery: delivery.ChoosePush},
			},
		} {
			g := s.loadAs(t, way, edges.Float64)
			for _, way.threads = range []int{1, 8, 16} {
				got, _ := run(t, g, algorithms.SSSP[float64]{Source: algorithms.ID(g.IDs[1])}, way)
				for v, d := range got {
					want, near := far[uint64(v)]
					if !near {
						want = 2
					}
					if d != want {
						t.Errorf("%v, second sender %d: vertex %d is at %v, want %v", way, second,
							v, d, want)
						break
					}
				}
			}
		}
	}
}
