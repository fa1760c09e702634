package vertexset_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// named loads a graph of names.
func named(t *testing.T, rows string) *superstep.Graph {
	t.Helper()
	path := filepath.Join(t.TempDir(), "g.csv")
	if err := os.WriteFile(path, []byte("from,to\n"+rows), 0o666); err != nil {
		t.Fatal(err)
	}
	g := must(superstep.Load(t.Context(), path, superstep.LoadOptions{}))(t)
	t.Cleanup(g.Close)
	return g
}

// TestOtherNames: a set belongs to the names of its graph. A graph may get vertices without names
// later: they are in no part.
func TestOtherNames(t *testing.T) {
	g := named(t, "Ann,Bob\nBob,Cyd\n")
	v, _ := g.Named("Ann")
	s := must(vertexset.Of(g, slices.Values([]pregel.VertexID{v})))(t)
	if part, err := named(t, "Xen,Yol\nYol,Zoe\n").Within(t.Context(), s); err == nil {
		t.Error("a set of other names fits: ", part.Name(0))
	}
	part := must(named(t, "Ann,Bob\nBob,Cyd\n").Within(t.Context(), s))(t)
	if name := part.Name(0); name != "Ann" {
		t.Error(name)
	}
	part.Close()

	more := must(g.Apply(t.Context(), pregel.Delta{AddVertices: []uint64{7}}))(t)
	defer more.Close()
	v, _ = more.Vertex(7)
	added := must(vertexset.Of(more, slices.Values([]pregel.VertexID{v})))(t)
	if _, err := more.Within(t.Context(), added); err == nil ||
		!strings.Contains(err.Error(), "vertex 7 has no name") {
		t.Error(err)
	}
	if _, err := g.Within(t.Context(), vertexset.Single(0)); err == nil ||
		!strings.Contains(err.Error(), "belongs to no graph") {
		t.Error(err)
	}
}
