package engine_test

import (
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
)

// TestInputOrderAgainstTwin: programs have the same results if vertices are numbered as in the
// input.
func TestInputOrderAgainstTwin(t *testing.T) {
	for k, shape := range shapes(8) {
		out, weights := shape.adjacency()
		source := shape.n / 3
		level, dist := levels(out, source), distances(out, weights, source)
		for _, s := range part(k, 41, inGrids(delivery.ChooseRingPull)) {
			in := &edges.Input{Name: shape.name, Edges: edges.Pack(uint64(shape.n), shape.tuples,
				shape.weights), Vertices: shape.n, Directed: shape.directed}
			g, err := build.Local(t.Context(), in,
				graph.Options{Partitions: s.parts, Grid: s.grid, Weights: edges.Float64, InputOrder: true})
			if err != nil {
				t.Fatal(err)
			}
			id, _ := g.Find(uint64(source))
			if uint64(id) != uint64(source) {
				t.Fatalf("vertex %d is %d", source, id)
			}
			parents, _ := run(t, g, algorithms.BFS{Source: id}, s)
			checkTree(t, shape, s, g.Order, out, level, parents)
			if s.o.Delivery != delivery.ChooseRingPull {
				got, _ := run(t, g, algorithms.SSSP[float64]{Source: id}, s)
				for v := range dist {
					if got[v] != dist[v] {
						t.Fatalf("%s, %v: distance of %d is %g, want %g", shape.name, s, v, got[v],
							dist[v])
					}
				}
			}
			g.Close()
		}
	}
}
