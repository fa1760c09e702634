package algorithms_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/algorithms/reference"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

func labels(list []int) (all []uint64) {
	for _, v := range list {
		all = append(all, uint64(v))
	}
	return all
}

func total(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

func TestCDLP(t *testing.T) {
	for s := range samples(t) {
		res := everyWay(t, s, pregel.List(algorithms.CDLP{Iterations: 5}))
		equal(t, s, "labels after 5 iterations", pregeltest.Values(res),
			labels(reference.CDLP(s.twin, 5)))
		equal(t, s, "labels after an iteration",
			values(t, s, pregel.List(algorithms.CDLP{Iterations: 1})),
			labels(reference.CDLP(s.twin, 1)))
		equal(t, s, "labels", values(t, s, pregel.List(algorithms.CDLP{})),
			labels(reference.CDLP(s.twin, 10)))
	}
}

// TestCDLPStops: CDLP stops after its iterations, or when no label changes.
func TestCDLPStops(t *testing.T) {
	for _, test := range []struct {
		words            string
		iterations, want int
		ended            string
	}{
		{"0-1 2-3", 7, 8, "iterations"}, // the labels oscillate
		{"0-1 1-2 2-0", 7, 4, "converged"},
		{"0-1 1-2 2-0", 1, 2, "iterations"},
		{"0 1", 7, 2, "converged"},
	} {
		res, err := superstep.Run(t.Context(), pregeltest.Graph(t, test.words),
			pregel.List(algorithms.CDLP{Iterations: test.iterations}))
		if err != nil || res.Supersteps != test.want || res.Ended != test.ended {
			t.Errorf("%s: %d supersteps, ended %s, want %d, %s; error %v", test.words,
				res.Supersteps, res.Ended, test.want, test.ended, err)
		}
	}
	_, err := superstep.Run(t.Context(), pregeltest.Graph(t, "0-1"),
		pregel.List(algorithms.CDLP{Iterations: -1}))
	refused(t, err, "iterations is -1, want 1 or more")
}

func TestLCC(t *testing.T) {
	for s := range samples(t) {
		equal(t, s, "coefficients", pregeltest.Values(everyWay(t, s,
			pregel.List(algorithms.LCC{}))), reference.LCC(s.twin))
	}
}

// TestLCCNextToHubs: a vertex has far fewer neighbours than the adjacent hub. Then the hub's list
// is searched instead of scanned.
func TestLCCNextToHubs(t *testing.T) {
	const hubs, all = 24, 24 + 24*24
	s := sample{name: "hubs", twin: reference.Graph{N: all, Directed: true}}
	o := superstep.LoadOptions{Directed: true}
	for v := range all {
		o.Vertices = append(o.Vertices, uint64(v))
		for u := range min(v, hubs) {
			switch { // hubs are joined to each other, and every other vertex to two hubs
			case v >= hubs && u != v%hubs && u != v/hubs-1:
			case (u+v)%3 == 0:
				s.twin.Arcs = append(s.twin.Arcs, [2]int{u, v}, [2]int{v, u})
			case (u+v)%3 == 1:
				s.twin.Arcs = append(s.twin.Arcs, [2]int{u, v})
			default:
				s.twin.Arcs = append(s.twin.Arcs, [2]int{v, u})
			}
		}
	}
	var list []superstep.Edge
	for _, a := range s.twin.Arcs {
		list = append(list, superstep.Edge{From: uint64(a[0]), To: uint64(a[1])})
	}
	s.graph = pregeltest.FromEdges(t, list, o)
	equal(t, s, "coefficients", values(t, s, pregel.List(algorithms.LCC{})), reference.LCC(s.twin))
	equal(t, s, "triangles", values(t, s, pregel.List(algorithms.Triangles{})),
		reference.Triangles(s.twin))
}

func TestTriangles(t *testing.T) {
	for s := range samples(t) {
		res, want := everyWay(t, s, pregel.List(algorithms.Triangles{})),
			reference.Triangles(s.twin)
		equal(t, s, "triangles", pregeltest.Values(res), want)
		if got := res.Aggregates["triangles"]; got != total(want)/3 {
			t.Errorf("%s: %v triangles, want %d", s.name, got, total(want)/3)
		}
	}
}

// examples are the examples of Graphalytics. root is the root of BFS and SSSP.
var examples = map[string]struct {
	directed bool
	root     uint64
}{"example-directed": {true, 1}, "example-undirected": {false, 2}}

// TestGraphalytics compares with the expected outputs of LDBC Graphalytics' examples, for several
// numbers of partitions, grids and deliveries, and on a cluster of four workers.
func TestGraphalytics(t *testing.T) {
	conn := programtest.Cluster(t, 4)
	for name, about := range examples {
		name = filepath.Join("reference", "testdata", name)
		here, there := programtest.Load(t, conn, name+".e",
			superstep.LoadOptions{Directed: about.directed, Undirected: !about.directed, Weights: superstep.Float64, Partitions: 4})
		root := pregeltest.ID(t, here, about.root)
		expect(t, here, there, name+"-BFS", algorithms.BFSLevels{Source: root}, 0)
		expect(t, here, there, name+"-SSSP", algorithms.SSSP[float64]{Source: root}, 1e-15)
		expect(t, here, there, name+"-PR", algorithms.PageRank{Iterations: 2}, 1e-15)
		expect(t, here, there, name+"-CDLP", pregel.List(algorithms.CDLP{Iterations: 2}), 0)
		expect(t, here, there, name+"-LCC", pregel.List(algorithms.LCC{}), 1e-15)
		// labels of components are arbitrary; WCC uses the lowest VertexID of each
		groups := map[uint64]pregel.VertexID{}
		components, err := superstep.Run(t.Context(), here, algorithms.WCC{})
		if err != nil {
			t.Fatal(err)
		}
		if about.directed {
			components = pregeltest.Matrix(t, here, algorithms.WCC{})
		}
		for label, want := range outputs[uint64](t, name+"-WCC") {
			got, _ := components.At(label)
			if first, ok := groups[want]; ok && first != got {
				t.Errorf("%s: vertex %d is in component %d, and another of it in %d", name, label,
					got, first)
			}
			groups[want] = got
		}
		distinct := map[pregel.VertexID]bool{}
		for _, id := range groups {
			distinct[id] = true
		}
		if len(distinct) != len(groups) {
			t.Errorf("%s: the components are %v", name, groups)
		}
		programtest.Same(t, here, there, algorithms.WCC{}, superstep.Options{})
	}
}

// expect runs a program in one process and on the cluster, and compares with a file. On the
// directed graph it runs it in every way, except CDLP and LCC: TestCDLP and TestLCC do so.
func expect[V int64 | uint64 | float64, M any](
	t *testing.T, here, there *superstep.Graph, file string, p pregel.Program[V, M],
	tolerance float64,
) {
	t.Helper()
	near := func(a, b V) bool {
		return a == b || tolerance > 0 &&
			pregeltest.Within[float64](tolerance)(float64(a), float64(b))
	}
	var results []*superstep.Result[V]
	graphs := []*superstep.Graph{here, there}
	if !strings.Contains(file, "undirected") && !strings.HasSuffix(file, "-CDLP") &&
		!strings.HasSuffix(file, "-LCC") {
		results, graphs = append(results, pregeltest.Matrix(t, here, p, near)), graphs[1:]
	}
	for _, g := range graphs {
		res, err := superstep.Run(t.Context(), g, p)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		results = append(results, res)
	}
	for _, res := range results {
		for label, want := range outputs[V](t, file) {
			if got, ok := res.At(label); !ok || !near(got, want) {
				t.Errorf("%s: vertex %d has %v, expected %v", file, label, got, want)
			}
		}
	}
}

// outputs reads a file with a value for each vertex.
func outputs[V any](t *testing.T, name string) map[uint64]V {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]V{}
	for line := range strings.Lines(string(text)) {
		var label uint64
		var value V
		if _, err := fmt.Sscan(strings.Replace(line, "infinity", "Inf", 1), &label,
			&value); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		all[label] = value
	}
	if len(all) < 9 {
		t.Fatalf("%s: %d vertices", name, len(all))
	}
	return all
}

func TestNeighbourhoodsOnACluster(t *testing.T) {
	conn := programtest.Cluster(t, 3)
	for _, name := range []string{"kronecker:scale=7", "rmat:scale=7"} {
		here, there := programtest.Load(t, conn, name)
		programtest.Same(t, here, there, pregel.List(algorithms.LCC{}), superstep.Options{})
		programtest.Same(t, here, there, pregel.List(algorithms.Triangles{}), superstep.Options{})
		programtest.Same(t, here, there, pregel.List(algorithms.CDLP{Iterations: 4}),
			superstep.Options{})
	}
}
