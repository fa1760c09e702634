package store_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/snapshot"
)

// TestSnapshot saves a graph in S3 and opens it again, by a server that fails now and then: it is the same graph.
func TestSnapshot(t *testing.T) {
	f := &faulty{random: rand.New(rand.NewPCG(5, 2)), of: 6}
	serve(t, func(h http.Handler) http.Handler { f.next = h; return f })
	in, err := generate.Input(t.Context(), generate.Kronecker{Scale: 10, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := open(t, "s3://bucket/graphs/k10")
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("saved a second time: found %v", err)
	}
	if !snapshot.Is("s3://bucket/graphs/k10/") || snapshot.Is("s3://bucket/graphs/k10") {
		t.Error("a place in S3 ends with a slash")
	}
	place, err := snapshot.Find(t.Context(), "s3://bucket/graphs/k10/")
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if err := snapshot.Verify(t.Context(), place.Store, place.Manifest, snapshot.Options{}); err != nil {
		t.Error(err)
	}
	opened, err := snapshot.Open(t.Context(), place.Store, place.Manifest, "k10", snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if opened.N != g.N || opened.Arcs != g.Arcs || !slices.Equal(opened.Order, g.Order) {
		t.Errorf("found %d vertices and %d arcs, expected %d and %d", opened.N, opened.Arcs, g.N, g.Arcs)
	}
	for i, p := range g.Parts {
		if q := opened.Parts[i]; !slices.Equal(p.In.Adj, q.In.Adj) || !slices.Equal(p.In.Starts, q.In.Starts) || !slices.Equal(p.OutDegrees, q.OutDegrees) {
			t.Errorf("partition %d has other edges", i)
		}
	}
	if _, err := snapshot.Find(t.Context(), "s3://bucket/graphs/"); !errors.Is(err, snapshot.ErrNone) {
		t.Errorf("found %v, expected that there is none", err)
	}
	if f.faults == 0 {
		t.Error("the server did not fail")
	}
}
