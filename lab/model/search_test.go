package model

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// frontiers has the number of vertices in each level of a search.
type frontiers []float64

func (f *frontiers) Record(e trace.Event) error {
	s, ok := e.(*record.Superstep)
	if !ok {
		return nil
	}
	for _, p := range s.Partitions {
		if p.Delivered > 0 {
			*f = append(*f, float64(p.Delivered))
		}
	}
	return nil
}

// near reports whether two numbers differ by at most a share of the larger, or by few.
func near(a, b, share, few float64) bool {
	return math.Abs(a-b) <= max(share*max(a, b), few)
}

// TestSearchIsAsMeasured: predictions of the graph are within 1 %, and those of levels within a
// quarter, of the mean of many searches.
func TestSearchIsAsMeasured(t *testing.T) {
	const scale, searches = 13, 16
	in, err := generate.Input(t.Context(),
		generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	g, err := build.Local(t.Context(), in,
		graph.Options{Duplicates: graph.LeastDuplicate, DropLoops: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var got, want []float64
	for i := range searches {
		root := 100 + i*(g.Connected-200)/searches
		s := NewSearch(scale, 16, float64(g.Parts[0].OutDegrees[root]))
		if !near(s.Connected, float64(g.Connected), 0.01, 0) ||
			!near(s.Edges, float64(g.Arcs), 0.01, 0) {
			t.Fatalf("%.0f vertices and %.0f edges are predicted, there are %d and %d", s.Connected,
				s.Edges, g.Connected, g.Arcs)
		}
		var f frontiers
		j, err := engine.NewJob(t.Context(), g,
			pregel.Erase(algorithms.BFS{Source: pregel.VertexID(root)}), engine.Options{Trace: &f})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		j.Close()
		for l, n := range f {
			got = add(got, l, n/searches)
		}
		for l := range s.Levels {
			want = add(want, l, s.Levels[l].Vertices/searches)
		}
	}
	t.Logf("levels: measured %.0f, predicted %.0f", got, want)
	for l := range max(len(got), len(want)) {
		got, want = add(got, l, 0), add(want, l, 0)
		if !near(got[l], want[l], 0.25, 20) {
			t.Errorf("level %d has %.0f vertices, %.0f predicted", l, got[l], want[l])
		}
	}
}

func add(list []float64, at int, x float64) []float64 {
	for len(list) <= at {
		list = append(list, 0)
	}
	list[at] += x
	return list
}

// TestTrafficIsAsMeasured: the predicted bytes of every phase differ by at most an eighth from the
// bytes that a grid in one process sends.
func TestTrafficIsAsMeasured(t *testing.T) {
	for _, grid := range []Grid{{2, 2}, {4, 4}, {2, 3}, {6, 1}, {1, 5}, {7, 4}} {
		c, err := Check(t.Context(), 13, 16, grid, 8, func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows {
			if math.Abs(r.Error()) > 0.125 && r.Measured.Bytes > 10000 {
				t.Errorf("%v, %s, %s: %.0f bytes, %.0f predicted", grid, r.Scheme, r.Phase,
					r.Measured.Bytes, r.Predicted.Bytes)
			}
			if (r.Measured.Bytes == 0) != (r.Predicted.Bytes == 0) {
				t.Errorf("%v, %s, %s: one of %v and %v is nothing", grid, r.Scheme, r.Phase,
					r.Measured, r.Predicted)
			}
		}
	}
}

// TestTrafficOfManyPartitions: with up to 256 partitions of few vertices, the predicted bytes of
// every phase are within a twelfth of the counted ones. `lab model --check` does the same with up
// to 4,096 (lab/results.md).
func TestTrafficOfManyPartitions(t *testing.T) {
	for _, side := range []int{4, 8, 16} {
		c, err := Check(t.Context(), 12, 16, Grid{side, side}, 32/side,
			func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows {
			t.Logf("%dx%d, %s, %s: %.0f bytes, %+.1f %%", side, side, r.Scheme, r.Phase,
				r.Measured.Bytes, 100*r.Error())
			if math.Abs(r.Error()) > 1.0/12 || (r.Measured.Bytes == 0) != (r.Predicted.Bytes == 0) {
				t.Errorf("%dx%d, %s, %s: %.0f bytes, %.0f predicted", side, side, r.Scheme, r.Phase,
					r.Measured.Bytes, r.Predicted.Bytes)
			}
		}
	}
}

// TestReplicatedBitsAndGridsCross: they cross at 512 nodes, as in Ueno11.
func TestReplicatedBitsAndGridsCross(t *testing.T) {
	c := Beside(Rates{1e-9, 1e-9, 1e-9, 1e-9, 1e-9}, Waiting{}, func(func(Published) bool) {})
	for _, x := range c.Crossing {
		if x.Nodes > 1 && x.Nodes != 512 && (x.Nodes < 512) != (x.Replicated < x.Square) {
			t.Errorf("%d nodes: %.3g bytes replicated, %.3g in a grid of %v", x.Nodes, x.Replicated,
				x.Square, x.Grid)
		}
	}
}

func TestNetworks(t *testing.T) {
	for _, name := range NetworkNames() {
		if n, err := ParseNetwork(name); err != nil || n.Name != name {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
	if n, err := ParseNetwork("latency=1e-6,bandwidth=2e9"); err != nil || n.Alpha != 0.5e-9 ||
		n.Beta != 1e-6 {
		t.Errorf("%+v, %v", n, err)
	}
	for _, text := range []string{"", "tofu", "bandwidth=1", "latency=1", "bandwidth=-1,latency=1", "bandwidth=Inf,latency=1", "bandwidth=x,latency=1", "speed=3"} {
		if _, err := ParseNetwork(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
