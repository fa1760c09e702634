package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/pregel"
)

// everyone is a set of all vertices.
type everyone struct{ *graph.Graph }

func (everyone) Contains(pregel.VertexID) bool { return true }
func (e everyone) Len() int                    { return e.N }

// TestWithinEnds: taking a part of the edges ends when the context ends.
func TestWithinEnds(t *testing.T) {
	g, err := build.Local(t.Context(), &edges.Input{
		Edges: edges.Pack(3, [][2]uint64{{0, 1}, {1, 2}}, nil), Vertices: 3,
	}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	in, err := g.Within(ctx, everyone{g})
	if err != nil || in.Edges.Len() != 2 {
		t.Fatal(in, err)
	}
	in.Close()
	cancel()
	if _, err := g.Within(ctx, everyone{g}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestIsSet(t *testing.T) {
	for path, want := range map[string]bool{
		"a.vset": true, "a.vset.gz": true, "s3://b/a.vset.zst": true, "a.vset.txt": false,
		"avset": false, "a.gz": false,
	} {
		if graph.IsSet(path) != want {
			t.Error(path)
		}
	}
}
