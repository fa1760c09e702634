package library_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/pregel"
)

// open returns a graph that is closed at the end of the test.
func open(t *testing.T, g *superstep.Graph, err error) *superstep.Graph {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// refused checks that there is an error of one line with this text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

func TestLoad(t *testing.T) {
	path := file(t, "g.txt", "# a comment\n10 20\n20 30\n10 20\n40 40\n")
	for _, test := range []struct {
		options  superstep.LoadOptions
		arcs     uint64
		directed bool
	}{
		{superstep.LoadOptions{}, 4, true},
		{superstep.LoadOptions{Undirected: true}, 7, false},
		{superstep.LoadOptions{Undirected: true, Duplicates: superstep.FirstDuplicates, SelfLoops: superstep.DropSelfLoops, Partitions: 3}, 4, false},
		{superstep.LoadOptions{Format: "snap", Duplicates: superstep.MinDuplicates, Threads: 2}, 3, true},
		{superstep.LoadOptions{Weights: superstep.Float32, UnitWeights: true}, 4, true},
	} {
		stages := 0
		test.options.Progress = func(string, int64, int64) { stages++ }
		g, err := superstep.Load(t.Context(), path, test.options)
		g = open(t, g, err)
		if g.NumVertices() != 4 || g.NumEdges() != test.arcs || g.IsDirected() != test.directed ||
			g.Partitions() != max(test.options.Partitions, 1) {
			t.Errorf("%+v: %d vertices, %d arcs, directed %t, %d partitions", test.options,
				g.NumVertices(), g.NumEdges(), g.IsDirected(), g.Partitions())
		}
		if stages == 0 || len(g.Account) == 0 {
			t.Errorf("%+v: %d stages reported, account %q", test.options, stages, g.Account)
		}
		for i := range 4 {
			id, ok := g.Vertex(uint64(10 * (i + 1)))
			if !ok || g.Label(id) != uint64(10*(i+1)) {
				t.Errorf("vertex %d: handle %d, %t", 10*(i+1), id, ok)
			}
		}
		if id, ok := g.Vertex(11); ok || id != pregel.None {
			t.Errorf("vertex 11 has handle %d", id)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	path := file(t, "g.el", "1 2\n2 x\n")
	_, err := superstep.Load(t.Context(), path)
	refused(t, err, `g.el:2:3: found "x", which is not a number, expected a whole number`)
	_, err = superstep.Load(t.Context(), path, superstep.LoadOptions{Format: "gml"})
	refused(t, err, `found the graph format "gml", expected one of snap, el,`)
	_, err = superstep.Load(t.Context(), path, superstep.LoadOptions{}, superstep.LoadOptions{})
	refused(t, err, "at most one options struct")
	_, err = superstep.Load(t.Context(), filepath.Dir(path)+"/none.el")
	refused(t, err, "no such file")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v is not os.ErrNotExist", err)
	}
	twice := file(t, "twice.el", "1 2\n1 2\n")
	_, err = superstep.Load(t.Context(), twice,
		superstep.LoadOptions{Duplicates: superstep.ErrorDuplicates})
	refused(t, err, "edge 1-2 occurs more than once")
	heavy := file(t, "heavy.wel", "1 2 2e38\n1 2 2e38\n")
	for _, grid := range []superstep.Grid{{}, {Rows: 2, Columns: 2}} {
		_, err = superstep.Load(t.Context(), heavy, superstep.LoadOptions{
			Weights: superstep.Float32, Duplicates: superstep.SumDuplicates, Grid: grid,
		})
		refused(t, err, "the weights of parallel edges add up to +Inf, which is not finite")
	}
	_, err = superstep.Load(t.Context(), twice, superstep.LoadOptions{Weights: superstep.Float64})
	refused(t, err, "the edges have no weights")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = superstep.Load(ended, twice)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestLoadGenerates(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=5")
	g = open(t, g, err)
	if hub, _ := g.Vertex(0); hub != 0 || g.NumEdges() != 8 || g.IsDirected() {
		t.Errorf("hub %d, %d arcs", hub, g.NumEdges())
	}
	g, err = superstep.Load(t.Context(), "star:vertices=5", superstep.LoadOptions{Directed: true})
	if g = open(t, g, err); g.NumEdges() != 4 || !g.IsDirected() {
		t.Errorf("%d arcs of a directed star", g.NumEdges())
	}
	_, err = superstep.Load(t.Context(), "ring:vertices=5")
	refused(t, err, "open ring:vertices=5")
	_, err = superstep.Load(t.Context(), "star:corners=5")
	refused(t, err, `parameter "corners" is unknown`)
	_, err = superstep.Load(t.Context(), "kronecker:scale=40")
	refused(t, err, "TiB of memory")
}

func TestFromEdges(t *testing.T) {
	const large = math.MaxUint64 - 1
	edges := []superstep.Edge{{From: 5, To: large, Weight: 0.5}, {From: large, To: 7, Weight: 2}, {From: 5, To: 7, Weight: 9}}
	for _, weights := range []superstep.Weights{superstep.IfAny, superstep.Float64} {
		g, err := superstep.FromEdges(t.Context(), edges,
			superstep.LoadOptions{Weights: weights, Partitions: 2})
		g = open(t, g, err)
		source, _ := g.Vertex(5)
		res, err := superstep.Run(t.Context(), g, algorithms.SSSP[float64]{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := res.At(7); !ok || d != 2.5 {
			t.Errorf("distance %g, %t", d, ok)
		}
		_, err = superstep.Run(t.Context(), g, algorithms.SSSP[float32]{Source: source})
		refused(t, err, "float32")
	}
	g, err := superstep.FromEdges(t.Context(), nil)
	if g = open(t, g, err); g.NumVertices() != 0 || g.NumEdges() != 0 {
		t.Errorf("%d vertices of no edges", g.NumVertices())
	}
	for _, weight := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := superstep.FromEdges(t.Context(),
			[]superstep.Edge{{From: 1, To: 2, Weight: weight}})
		refused(t, err, "the edge from 1 to 2 has weight")
	}
	_, err = superstep.FromEdges(t.Context(), []superstep.Edge{{From: 1, To: 2, Weight: 1e300}},
		superstep.LoadOptions{Weights: superstep.Float32})
	refused(t, err, "1e+300")
	g, err = superstep.FromEdges(t.Context(), []superstep.Edge{{From: 1, To: 2, Weight: -1}})
	g = open(t, g, err)
	_, err = superstep.Run(t.Context(), g, algorithms.SSSP[float64]{})
	refused(t, err, "the edge from 1 to 2 has weight -1")
}

func TestRepartition(t *testing.T) {
	for _, directed := range []bool{true, false} {
		g, err := superstep.Load(t.Context(), "uniform:vertices=300,degree=3",
			superstep.LoadOptions{Directed: directed, Undirected: !directed})
		g = open(t, g, err)
		want, err := superstep.Run(t.Context(), g, algorithms.WCC{})
		if err != nil {
			t.Fatal(err)
		}
		for _, parts := range []int{1, 2, 7} {
			other, err := g.Repartition(t.Context(), superstep.LoadOptions{Partitions: parts})
			other = open(t, other, err)
			if other.Partitions() != parts || other.NumEdges() != g.NumEdges() ||
				other.IsDirected() != g.IsDirected() {
				t.Errorf("%d partitions, %d arcs of %d", other.Partitions(), other.NumEdges(),
					g.NumEdges())
			}
			got, err := superstep.Run(t.Context(), other, algorithms.WCC{})
			if err != nil {
				t.Fatal(err)
			}
			for label, w := range want.All() {
				if v, ok := got.At(label); !ok || v != w {
					t.Fatalf("%d partitions: vertex %d has %d, %t, want %d", parts, label, v, ok, w)
				}
			}
		}
		_, err = g.Repartition(t.Context(),
			superstep.LoadOptions{Directed: directed, Undirected: !directed})
		refused(t, err, "cannot change the direction")
	}
}

func TestClose(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 1, To: 2}})
	g = open(t, g, err)
	res, err := superstep.Run(t.Context(), g, algorithms.WCC{})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	g.Close()
	_, err = superstep.Run(t.Context(), g, algorithms.WCC{})
	refused(t, err, "the graph is closed")
	_, err = g.Repartition(t.Context(), superstep.LoadOptions{})
	refused(t, err, "the graph is closed")
	if _, ok := g.Vertex(1); ok || g.NumVertices() != 0 || g.Partitions() != 0 {
		t.Error("a closed graph has vertices")
	}
	if _, ok := res.At(1); ok || res.Value(0) != 0 {
		t.Error("a result found a vertex of a closed graph, or lost its values")
	}
	defer func() {
		if recover() == nil {
			t.Error("a result named a vertex of a closed graph")
		}
	}()
	for range res.All() {
	}
}

func TestOptionsThereAreNot(t *testing.T) {
	ctx := context.Background()
	if _, err := superstep.Load(ctx, "path:vertices=3",
		superstep.LoadOptions{Partitions: -1}); err == nil || !strings.Contains(err.Error(),
		"Partitions: found -1") {
		t.Errorf("-1 partitions: %v", err)
	}
	if _, err := superstep.Load(ctx, "path:vertices=3",
		superstep.LoadOptions{Threads: -1}); err == nil || !strings.Contains(err.Error(),
		"LoadOptions.Threads: found -1") {
		t.Errorf("-1 threads: %v", err)
	}
	for _, o := range []superstep.LoadOptions{{SelfLoops: 2}, {Weights: 4}, {Duplicates: 5}} {
		if _, err := superstep.Load(ctx, "path:vertices=3", o); err == nil ||
			!strings.Contains(err.Error(), "there are no Weights") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	both := superstep.LoadOptions{Directed: true, Undirected: true}
	if _, err := superstep.Load(ctx, "path:vertices=3", both); err == nil ||
		!strings.Contains(err.Error(), "Directed and Undirected contradict") {
		t.Errorf("both ways: %v", err)
	}
	g, err := superstep.Load(ctx, "path:vertices=3")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Repartition(ctx, superstep.LoadOptions{Partitions: -2}); err == nil {
		t.Error("Repartition took -2 partitions")
	}
	if _, err := superstep.Run(ctx, g, algorithms.WCC{},
		superstep.Options{Threads: -2}); err == nil {
		t.Error("Run took -2 threads")
	}
}
