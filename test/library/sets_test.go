package library_test

import (
	"path/filepath"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// TestSetsEverywhere: a graph has the same vertex sets in one process, in any partitions, and on a
// cluster. A set fills columns everywhere.
func TestSetsEverywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.vset")
	var first vertexset.Set
	everywhere(t, "uniform:vertices=500,degree=3", func(g *superstep.Graph) {
		set, err := vertexset.Of(g, func(yield func(pregel.VertexID) bool) {
			for label := uint64(1); label < 500; label += 2 {
				if id, ok := g.Vertex(label); ok && !yield(id) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if first.Len() == 0 {
			first = set
			if err := first.WriteFile(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
		if both, err := first.Union(set); err != nil || !both.Equal(first) || !set.Equal(first) {
			t.Fatalf("found %v, and %v with %v, %v", set, both, first, err)
		}
		for label, value := range must(t, g, typed{}, superstep.FromFile(typedFloat, path)).All() {
			if want := float32(label % 2); value.Float != want {
				t.Fatalf("vertex %d has %v, expected %v", label, value.Float, want)
			}
		}
		if _, err := superstep.Run(t.Context(), g, typed{}, superstep.Options{
			Columns: []superstep.Input{superstep.FromFile(typedVertex, path)},
		}); err == nil {
			t.Error("a set fills a column of vertices")
		}
	})
	everywhere(t, "uniform:vertices=499,degree=3", func(g *superstep.Graph) {
		if _, err := first.Bind(g); err == nil {
			t.Error("another graph takes the set")
		}
		if _, err := superstep.Run(t.Context(), g, typed{}, superstep.Options{
			Columns: []superstep.Input{superstep.FromFile(typedFloat, path)},
		}); err == nil {
			t.Error("a column of another graph takes the set")
		}
	})
}
