package algorithms_test

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

var near = pregeltest.Within[float64](1e-12)

func nearStanding(a, b algorithms.Standing) bool {
	return near(a.Hub, b.Hub) && near(a.Authority, b.Authority)
}

func TestHITS(t *testing.T) {
	for s := range samples(t) {
		p := algorithms.HITS{Iterations: 5}
		res := everyWay(t, s, p, nearStanding)
		if res.Supersteps != 12 {
			t.Errorf("%s: %d supersteps of 5 iterations, want 12", s.name, res.Supersteps)
		}
		hub, authority := reference.HITS(s.twin, 5)
		for v, got := range pregeltest.Values(res) {
			if want := (algorithms.Standing{Hub: hub[v], Authority: authority[v]}); !nearStanding(got, want) {
				t.Errorf("%s: vertex %d has %+v, want %+v", s.name, v, got, want)
			}
		}
	}
}

func TestEigenvector(t *testing.T) {
	for s := range samples(t) {
		res := everyWay(t, s, algorithms.Eigenvector{Iterations: 5}, near)
		if res.Supersteps != 7 {
			t.Errorf("%s: %d supersteps of 5 iterations, want 7", s.name, res.Supersteps)
		}
		want := reference.Eigenvector(s.twin, 5)
		for v, got := range pregeltest.Values(res) {
			if !near(got, want[v]) {
				t.Errorf("%s: vertex %d has %g, want %g", s.name, v, got, want[v])
			}
		}
	}
}

// TestPowerIterationsStop: by default power iteration stops at convergence. It converges even on a
// path of three vertices, which is bipartite. Its eigenvalue is the square root of 2.
func TestPowerIterationsStop(t *testing.T) {
	g := pregeltest.Graph(t, "0-1 1-2")
	res, err := superstep.Run(t.Context(), g, algorithms.Eigenvector{})
	if err != nil {
		t.Fatal(err)
	}
	loose := pregeltest.Within[float64](1e-5)
	if value := res.Aggregates["eigenvalue"].(float64); !loose(value, math.Sqrt2) ||
		res.Supersteps < 5 || res.Supersteps > 40 {
		t.Errorf("eigenvalue %g after %d supersteps", value, res.Supersteps)
	}
	for v, want := range []float64{0.5, math.Sqrt2 / 2, 0.5} {
		if x, _ := res.At(uint64(v)); !loose(x, want) {
			t.Errorf("vertex %d has %g, want %g", v, x, want)
		}
	}
	if change := res.Aggregates["change"].(float64); !(change > 0 && change < 1e-6) {
		t.Errorf("the change is %g at the end", change)
	}
	links := pregeltest.Graph(t, "0>2 1>2 1>3")
	hits, err := superstep.Run(t.Context(), links, algorithms.HITS{})
	if err != nil {
		t.Fatal(err)
	}
	if change := hits.Aggregates["change"].(float64); !(change < 1e-6) || hits.Supersteps > 100 ||
		hits.Supersteps%2 != 0 {
		t.Errorf("HITS: change %g after %d supersteps", change, hits.Supersteps)
	}
	golden := (1 + math.Sqrt(5)) / 2 // A'A restricted to the authorities 2 and 3 is (2 1, 1 1)
	if a, b := hits.Value(pregeltest.ID(t, links, 2)),
		hits.Value(pregeltest.ID(t, links, 3)); math.Abs(a.Authority/b.Authority-golden) > 1e-5 {
		t.Errorf("authorities %g and %g", a.Authority, b.Authority)
	}
	for _, tolerance := range []float64{-1, math.NaN()} {
		_, err := superstep.Run(t.Context(), g, algorithms.Eigenvector{Tolerance: tolerance})
		refused(t, err, "want 0 or more")
	}
	for _, test := range []struct {
		iterations int
		tolerance  float64
		ended      string
	}{{3, 0, "iterations"}, {3, 1e-300, "iterations"}, {3, 1, "converged"}} {
		scores, err := superstep.Run(t.Context(), g,
			algorithms.Eigenvector{Iterations: test.iterations, Tolerance: test.tolerance})
		hubs, err2 := superstep.Run(t.Context(), links,
			algorithms.HITS{Iterations: test.iterations, Tolerance: test.tolerance})
		if err := cmp.Or(err, err2); err != nil {
			t.Fatal(err)
		}
		if scores.Ended != test.ended || hubs.Ended != test.ended {
			t.Errorf("%+v: eigenvector ended %s, HITS %s", test, scores.Ended, hubs.Ended)
		}
	}
	_, err = superstep.Run(t.Context(), g, algorithms.HITS{Iterations: -1})
	refused(t, err, "iterations is -1, want 1 or more")
}

func TestHyperBall(t *testing.T) {
	for s := range samples(t) {
		size, sum := reference.HyperBall(s.twin)
		reached, harmonic := reference.Reach(s.twin)
		res, total := everyWay(t, s, algorithms.HyperBall{}), 0.0
		for v, ball := range pregeltest.Values(res) {
			total += size[v]
			if x := ball.Reached.Size(); !near(x, size[v]) || !near(ball.Harmonic, sum[v]) {
				t.Errorf("%s: vertex %d has %g and %g, want %g and %g", s.name, v, x, ball.Harmonic,
					size[v], sum[v])
			}
			if math.Abs(size[v]-reached[v]) > 1+0.4*reached[v] ||
				math.Abs(ball.Harmonic-harmonic[v]) > 1+0.4*harmonic[v] {
				t.Errorf("%s: from vertex %d about %.1f are reached, harmonic centrality %.1f, expected about %.0f and %.1f",
					s.name, v, size[v], ball.Harmonic, reached[v], harmonic[v])
			}
		}
		if got := res.Aggregates["pairs"].(float64); math.Abs(got-total) > 1e-9*total {
			t.Errorf("%s: %g pairs, want %g", s.name, got, total)
		}
	}
	c := algorithms.Counter{1}
	pregeltest.CheckCombiner(t, algorithms.HyperBall{}.Combiner(), c, algorithms.Counter{0, 9},
		algorithms.Counter{3, 2}, algorithms.Counter{63: 5})
	if text := string(algorithms.HyperBall{}.Output(nil,
		algorithms.Ball{Harmonic: 0.5})); text != "0 0.5" {
		t.Errorf("a value is written as %s", text)
	}
}

func TestCentralitiesOnACluster(t *testing.T) {
	conn := programtest.Cluster(t, 2)
	for _, name := range []string{"kronecker:scale=7", "rmat:scale=7"} {
		here, there := programtest.Load(t, conn, name)
		programtest.Same(t, here, there, algorithms.PageRank{Sources: []pregel.VertexID{100, 3, 7}},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.PageRank{Tolerance: 1e-300, Iterations: 5},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.HITS{Tolerance: 1e-300, Iterations: 5},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.HITS{Iterations: 5},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.Eigenvector{},
			superstep.Options{Deterministic: true})
		programtest.Same(t, here, there, algorithms.HyperBall{}, superstep.Options{})
		programtest.Same(t, here, there, algorithms.MIS{}, superstep.Options{})
		for g, want := range map[*superstep.Graph]string{
			here:  "superstep 0: a source is the vertex 1000: the graph has the vertices 0 to 127",
			there: "PageRank: parameter sources: element 2 of 2: the graph has no vertex with VertexID 1000",
		} {
			_, err := superstep.Run(t.Context(), g,
				algorithms.PageRank{Sources: []pregel.VertexID{0, 1000}})
			refused(t, err, want)
			if failed := new(pregel.ProgramError); errors.As(err, &failed) && failed.Stack != "" {
				t.Errorf("there is a stack: %s", failed.Stack)
			}
		}
		programtest.Same(t, here, there, pregel.List(algorithms.Coloring{}), superstep.Options{})
		programtest.Same(t, here, there, pregel.List(algorithms.Matching{}), superstep.Options{})
	}
}

// TestBetweennessOfTooManyPaths: 1,100 diamonds in a row have 2^1100 shortest paths, more than a
// float64 holds. Vertex 3k begins the diamond k, whose sides are 3k+1 and 3k+2.
func TestBetweennessOfTooManyPaths(t *testing.T) {
	var list []superstep.Edge
	for v := uint64(0); v < 3*1100; v += 3 {
		list = append(list, superstep.Edge{From: v, To: v + 1}, superstep.Edge{From: v, To: v + 2})
		list = append(list, superstep.Edge{From: v + 1, To: v + 3},
			superstep.Edge{From: v + 2, To: v + 3})
	}
	for _, partitions := range []int{1, 2} {
		g, err := superstep.FromEdges(t.Context(), list,
			superstep.LoadOptions{Partitions: partitions, Directed: true})
		if err != nil {
			t.Fatal(err)
		}
		source, _ := g.Vertex(0)
		_, err = superstep.Run(t.Context(), g,
			algorithms.Betweenness{Sources: []pregel.VertexID{source}})
		want := "more shortest paths lead from a source to vertex 3072 than a float64 counts"
		if g.Close(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%d partitions: %v, want %s", partitions, err, want)
		}
	}
}
