package algorithms_test

import (
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

func TestKCore(t *testing.T) {
	for s := range samples(t) {
		want := reference.Cores(s.twin)
		res := everyWay(t, s, algorithms.KCore{})
		equal(t, s, "core numbers", pregeltest.Values(res), want)
		if got := res.Aggregates["degeneracy"]; got != slices.Max(want) {
			t.Errorf("%s: the degeneracy is %v, want %d", s.name, got, slices.Max(want))
		}
		for k := int64(1); k <= slices.Max(want)+1; k++ {
			s := s
			s.alike = s.alike || k != slices.Max(want)
			res := everyWay(t, s, algorithms.KCore{K: k})
			members := int64(0)
			for v, n := range pregeltest.Values(res) {
				if in := want[v] >= k; in != (n >= k) || !in && n != 0 {
					t.Errorf("%s: vertex %d has %d neighbours in the %d-core, and is in the %d-core", s.name, v, n, k, want[v])
				} else if in {
					members++
				}
			}
			if got := res.Aggregates["in_core"]; got != members {
				t.Errorf("%s: %v vertices are in the %d-core, want %d", s.name, got, k, members)
			}
		}
	}
	_, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1"), algorithms.KCore{K: -1})
	refused(t, err, "k is -1, want 0 or more")
}

func TestSCC(t *testing.T) {
	for s := range samples(t) {
		component, want := reference.SCC(s.twin), map[int]pregel.VertexID{}
		for v, c := range component {
			id := pregeltest.ID(t, s.graph, uint64(v))
			if least, ok := want[c]; !ok || id < least {
				want[c] = id
			}
		}
		for v, got := range pregeltest.Values(everyWay(t, s, algorithms.SCC{})) {
			if got != want[component[v]] {
				t.Errorf("%s: vertex %d is in component %d, want %d", s.name, v, got,
					want[component[v]])
			}
		}
	}
}

func TestDegrees(t *testing.T) {
	for s := range samples(t) {
		out, in := reference.Degrees(s.twin)
		res, least, mean := everyWay(t, s, pregel.List(algorithms.Degrees{})), int64(math.MaxInt64),
			0.0
		for v, d := range pregeltest.Values(res) {
			total := out[v]
			if s.twin.Directed {
				total += in[v]
			}
			if want := (algorithms.Degree{Out: int64(out[v]), In: int64(in[v]), Total: int64(total)}); d != want {
				t.Errorf("%s: the degrees of %d are %+v, want %+v", s.name, v, d, want)
			}
			least, mean = min(least, int64(in[v])), mean+float64(total)/float64(len(out))
		}
		if got := res.Aggregates; got["max_out"] != int64(slices.Max(out)) ||
			got["min_in"] != least || math.Abs(got["mean_total"].(float64)-mean) > 1e-12 {
			t.Errorf("%s: the aggregates are %v", s.name, got)
		}
	}
}

func TestCoresOnACluster(t *testing.T) {
	conn := programtest.Cluster(t, 3)
	for _, name := range []string{"kronecker:scale=7", "rmat:scale=7"} {
		here, there := programtest.Load(t, conn, name)
		programtest.Same(t, here, there, algorithms.KCore{}, superstep.Options{})
		programtest.Same(t, here, there, algorithms.KCore{K: 5}, superstep.Options{})
		programtest.Same(t, here, there, pregel.List(algorithms.Degrees{}), superstep.Options{})
		programtest.Same(t, here, there, algorithms.SCC{}, superstep.Options{})
	}
}
