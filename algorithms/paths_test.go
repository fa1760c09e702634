package algorithms_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// sampled returns the n vertices with the lowest hashes, or all vertices.
func (s sample) sampled(n int) []int {
	return s.order(func(v int) uint64 { return splitMix(uint64(v)) })[:min(n, s.twin.N)]
}

// given returns two vertices and their VertexIDs, or one if the graph has one vertex.
func (s sample) given(t *testing.T) (vertices []int, handles []pregel.VertexID) {
	vertices = slices.Compact([]int{s.twin.N / 2, s.twin.N - 1})
	for _, v := range vertices {
		handles = append(handles, pregeltest.ID(t, s.graph, uint64(v)))
	}
	return vertices, handles
}

func TestBetweenness(t *testing.T) {
	for s := range samples(t) {
		check := func(what string, got []float64, sources []int) {
			t.Helper()
			for v, want := range reference.Betweenness(s.twin, sources) {
				if !near(got[v], want) {
					t.Fatalf("%s, %s: vertex %d has %g, want %g", s.name, what, v, got[v], want)
				}
			}
		}
		if s.twin.N > 100 {
			check("all", values(t, s, algorithms.Betweenness{Samples: 200}), s.sampled(200))
		}
		check("by default", values(t, s, algorithms.Betweenness{}), s.sampled(64))
		check("a sample", pregeltest.Values(everyWay(t, s, algorithms.Betweenness{Samples: 2},
			near)), s.sampled(2))
		vertices, handles := s.given(t)
		check("sources", values(t, s, algorithms.Betweenness{Sources: handles}), vertices)
	}
}

func TestCloseness(t *testing.T) {
	same := func(a, b algorithms.Nearness) bool {
		return near(a.Closeness, b.Closeness) && near(a.Harmonic, b.Harmonic)
	}
	for s := range samples(t) {
		check := func(what string, got []algorithms.Nearness, sources []int) {
			t.Helper()
			closeness, harmonic := reference.Closeness(s.twin, sources)
			for v := range got {
				if want := (algorithms.Nearness{Closeness: closeness[v], Harmonic: harmonic[v]}); !same(got[v], want) {
					t.Fatalf("%s, %s: vertex %d has %+v, want %+v", s.name, what, v, got[v], want)
				}
			}
		}
		if s.twin.N > 70 { // else the sample is all
			check("all", values(t, s, algorithms.Closeness{}), s.sampled(256))
		}
		check("a sample", pregeltest.Values(everyWay(t, s, algorithms.Closeness{Samples: 70})),
			s.sampled(70))
		vertices, handles := s.given(t)
		check("sources", values(t, s, algorithms.Closeness{Sources: handles}), vertices)
	}
}

// TestPathsOfThree computes by hand: on a path of three vertices, all shortest paths between the
// ends pass through the middle.
func TestPathsOfThree(t *testing.T) {
	g := pregeltest.Graph(t, "0-1 1-2")
	between, err := superstep.Run(t.Context(), g, algorithms.Betweenness{})
	closest, err2 := superstep.Run(t.Context(), g, algorithms.Closeness{})
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	for v, want := range []float64{0, 1, 0} {
		if x, _ := between.At(uint64(v)); x != want {
			t.Errorf("vertex %d has betweenness %g, want %g", v, x, want)
		}
	}
	for v, want := range []algorithms.Nearness{{Closeness: 2.0 / 3, Harmonic: 1.5}, {Closeness: 1, Harmonic: 2}, {Closeness: 2.0 / 3, Harmonic: 1.5}} {
		if x, _ := closest.At(uint64(v)); x != want {
			t.Errorf("vertex %d has %+v, want %+v", v, x, want)
		}
	}
	for _, n := range []int{-1, 1<<16 + 1} {
		_, err := superstep.Run(t.Context(), g, algorithms.Betweenness{Samples: n})
		refused(t, err, "want 1 to 65536")
		_, err = superstep.Run(t.Context(), g, algorithms.Closeness{Samples: n})
		refused(t, err, "want 1 to 65536")
	}
	_, err = superstep.Run(t.Context(), g,
		algorithms.Closeness{Sources: []pregel.VertexID{1, 2, 1}})
	refused(t, err, "a source is given twice")
	_, err = superstep.Run(t.Context(), g,
		algorithms.Betweenness{Sources: []pregel.VertexID{1}, Samples: 2})
	refused(t, err, "found sources and samples, expected one of the two")
}

func TestPathsOnACluster(t *testing.T) {
	conn := programtest.Cluster(t, 2)
	for _, name := range []string{"kronecker:scale=7", "rmat:scale=7"} {
		here, there := programtest.Load(t, conn, name)
		programtest.Same(t, here, there, algorithms.Betweenness{Samples: 5},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.Closeness{}, superstep.Options{})
	}
}
