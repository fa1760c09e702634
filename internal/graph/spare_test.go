package graph_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/invariants"
	"github.com/superstep-go/superstep/internal/mem"
)

// leave leaves an array to a graph's arena.
func leave(a *mem.Arena) {
	job := &mem.Arena{Kind: mem.Columns, Parent: a}
	s := mem.Make[uint64](job, 1<<14)
	s[9] = 7
	job.Keep()
}

// keeps reports whether a graph's arena has that array, and removes it.
func keeps(a *mem.Arena) bool {
	job := &mem.Arena{Kind: mem.Columns, Parent: a}
	defer job.Close()
	return mem.MakeAny[uint64](job, 1<<14)[9] == 7
}

// TestForgottenGraphFreesSpares: the spares of a graph are freed when it is closed or unreachable,
// and before the load of another graph is refused.
func TestForgottenGraphFreesSpares(t *testing.T) {
	if runtime.GOOS != "linux" || invariants.Enabled {
		t.Skip("arrays are on Go's heap, or MakeAny overwrites them")
	}
	load := func() *graph.Graph {
		g, err := build.Local(context.Background(), &edges.Input{
			Name: "pair", Edges: edges.Pack(2, [][2]uint64{{0, 1}}, nil), Vertices: 2,
		}, graph.Options{Partitions: 1})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := load()
	a := g.Arena()
	if leave(a); !keeps(a) {
		t.Fatal("a graph keeps nothing")
	}
	leave(a)
	if err := graph.Enough("a large graph", 1<<20); err != nil || keeps(a) {
		t.Errorf("there are spares beside the load of a large graph; error %v", err)
	}
	leave(a)
	if g.Close(); keeps(a) {
		t.Error("a closed graph keeps spares")
	}
	g = load()
	a = g.Arena()
	leave(a)
	runtime.KeepAlive(g)
	g = nil
	for range 1000 {
		if runtime.GC(); !keeps(a) {
			return
		}
		leave(a)
		<-time.After(time.Millisecond)
	}
	t.Error("a forgotten graph keeps spares")
}
