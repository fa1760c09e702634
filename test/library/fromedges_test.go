package library_test

import (
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
)

func TestFromEdgesTakesVerticesWithoutEdges(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 9, To: 4}},
		superstep.LoadOptions{Vertices: []uint64{4, 1, 7, 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if g.NumVertices() != 4 || g.NumEdges() != 1 {
		t.Fatalf("%d vertices, %d edges", g.NumVertices(), g.NumEdges())
	}
	for _, label := range []uint64{1, 4, 7, 9} {
		if id, ok := g.Vertex(label); !ok || g.Label(id) != label {
			t.Errorf("vertex %d is %d, %t", label, id, ok)
		}
	}
	if _, err := superstep.Load(t.Context(), "star:vertices=3",
		superstep.LoadOptions{Vertices: []uint64{1}}); err == nil {
		t.Error("a generator took vertices")
	}
}

func TestRepartitionKeepsTheTypeOfWeights(t *testing.T) {
	for kind, single := range map[superstep.Weights]bool{superstep.Float32: true, superstep.Float64: false} {
		g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 0, To: 1, Weight: 0.5}},
			superstep.LoadOptions{Weights: kind})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		again, err := g.Repartition(t.Context(), superstep.LoadOptions{Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		source, _ := again.Vertex(0)
		_, err32 := superstep.Run(t.Context(), again, algorithms.SSSP[float32]{Source: source})
		_, err64 := superstep.Run(t.Context(), again, algorithms.SSSP[float64]{Source: source})
		if (err32 == nil) != single || (err64 == nil) == single {
			t.Errorf("single weights %t: %v, %v", single, err32, err64)
		}
	}
}
