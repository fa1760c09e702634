package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/pregel"
)

// overflown returns the lengths of shortest paths from vertex 0, relaxed until nothing changes.
// first is the first vertex whose shortest path is too long for a float, or -1.
func overflown(s shape, single bool) (dist []float64, first int) {
	dist = make([]float64, s.n)
	for v := range dist {
		dist[v] = math.Inf(1)
	}
	dist[0] = 0
	each := func(f func(from, to uint64, length float64)) {
		for i, e := range s.tuples {
			for _, e := range [][2]uint64{e, {e[1], e[0]}} {
				length := dist[e[0]] + s.weights[i]
				if single {
					length = float64(float32(length))
				}
				if f(e[0], e[1], length); s.directed {
					break
				}
			}
		}
	}
	for range s.n {
		each(func(_, to uint64, length float64) { dist[to] = min(dist[to], length) })
	}
	first = s.n
	each(func(from, to uint64, length float64) {
		if math.IsInf(length, 1) && !math.IsInf(dist[from], 1) && math.IsInf(dist[to], 1) {
			first = min(first, int(to))
		}
	})
	if first == s.n {
		first = -1
	}
	return dist, first
}

func checkOverflow[V, M any](t *testing.T, s shape, i int, single bool, p func(source pregel.VertexID) pregel.Program[V, M], length func(V) float64) (failed bool) {
	t.Helper()
	dist, first := overflown(s, single)
	kind, name := edges.Float64, "float64, 1.8e+308"
	if single {
		kind, name = edges.Float32, "float32, 3.4e+38"
	}
	for _, way := range part(i, 8, inGrids()) {
		g := s.loadAs(t, way, kind)
		values, _, err := tryRun(t, g, p(pregel.VertexID(g.IDs[0])), way)
		if first >= 0 {
			want := fmt.Sprintf(", distance of vertex %d: a path leads there, but its length is beyond the largest %s", first, name)
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Fatalf("%s, %v: %v, want %s", s.name, way, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s, %v: %v", s.name, way, err)
		}
		for v, d := range values {
			if length(d) != dist[v] {
				t.Fatalf("%s, %v: vertex %d is at %g, want %g", s.name, way, v, length(d), dist[v])
			}
		}
	}
	return first >= 0
}

// TestOverflowIsNotUnreachable: a path whose length exceeds the largest float fails the run, with
// the vertex, in every grid. A vertex without a path, or with a shorter one, does not.
func TestOverflowIsNotUnreachable(t *testing.T) {
	number := func(d float64) float64 { return d }
	double := func(source pregel.VertexID) pregel.Program[float64, float64] {
		return algorithms.SSSP[float64]{Source: source}
	}
	failed := 0
	rng := rand.New(rand.NewPCG(45, 6))
	for i, text := range []string{
		"0>1:1e308 1>2:1e308 2>3:1e308",
		"0>1:1e308 1>2:1e308 0>2:1 3>1:1",
		"0-1:1e308 1-2:1e308 2-3:1e308",
		"0>1:1e308 2>1:1e308",
		"", "", "", "",
	} {
		s := shape{name: fmt.Sprint("random ", i), n: 40, directed: i%2 == 0}
		if text != "" {
			s = on(t, text).shape
		} else {
			for range 60 {
				s.tuples = append(s.tuples, [2]uint64{uint64(rng.IntN(s.n)), uint64(rng.IntN(s.n))})
				s.weights = append(s.weights,
					[]float64{1, 1e307, 1e308, math.MaxFloat64}[rng.IntN(4)])
			}
		}
		if checkOverflow(t, s, i, false, double, number) {
			failed++
		}
		for j := range s.weights {
			s.weights[j] = float64(min(float32(s.weights[j]/1e270), math.MaxFloat32))
		}
		if checkOverflow(t, s, i+1, true, func(source pregel.VertexID) pregel.Program[float32,
			float32] {
			return algorithms.SSSP[float32]{Source: source}
		}, func(d float32) float64 { return float64(d) }) {
			failed++
		}
		type hop = algorithms.Hop[float32]
		if checkOverflow(t, s, i+2, true, func(source pregel.VertexID) pregel.Program[hop, hop] {
			return algorithms.SSSPTree[float32]{Source: source}
		}, func(h hop) float64 { return float64(h.Dist) }) {
			failed++
		}
	}
	if failed < 6 || failed > 22 {
		t.Errorf("%d of 24 runs have failed: the test tests too little", failed)
	}
}

// A run that ends at the limit of supersteps does not fail: it may not have found a shorter path.
func TestARunThatIsCutDoesNotOverflow(t *testing.T) {
	s := on(t, "0>1:1e308 1>2:1e308 0>3:1 3>4:1 4>2:1").shape
	for i, way := range inGrids() {
		way.o.MaxSupersteps = 1 + i%4
		g := s.loadAs(t, way, edges.Float64)
		p := algorithms.SSSP[float64]{Source: pregel.VertexID(g.IDs[0])}
		if _, _, err := tryRun(t, g, p, way); err != nil {
			t.Fatalf("%v: %v", way, err)
		}
	}
}
