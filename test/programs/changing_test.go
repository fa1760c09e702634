package programs_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
)

// Prune computes the k-core: it removes vertices with fewer than K edges until all others have at
// least K. The value of a remaining vertex is its number of edges.
type Prune struct {
	K int64 `param:"k" default:"2" help:"edges that everyone has"`
}

func (Prune) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Prune) Traits() pregel.Traits           { return pregel.Traits{Mutates: true} }

func (p Prune) Compute(v *pregel.Vertex[int64, bool], _ bool) {
	v.Set(int64(v.OutDegree()))
	if v.Value() < p.K {
		v.SendToAllNeighbors(true)
		v.Change().RemoveVertex(v.ID())
	}
	v.VoteToHalt()
}

// Shadow adds a new neighbour to each vertex with an even input id, and removes vertices whose id
// is divisible by 3. The value of a new vertex names its neighbour. Some ids between new vertices
// have no vertex.
type Shadow struct{}

func (Shadow) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Shadow) Traits() pregel.Traits           { return pregel.Traits{Mutates: true} }

func (Shadow) Compute(v *pregel.Vertex[string, bool], _ bool) {
	v.VoteToHalt()
	if v.Superstep() > 0 {
		return
	}
	v.Set("loaded")
	if v.Label()%2 == 0 {
		shadow := v.Change().NextID() + v.ID()
		v.Change().AddVertex(shadow, strings.Repeat("s", int(v.Label()%50)))
		v.Change().AddEdge(shadow, v.ID(), 1)
	}
	if v.Label()%3 == 0 {
		v.Change().RemoveVertex(v.ID())
	}
}

// TestChangingOnACluster: typed results from a cluster contain the vertices that the program has
// left, and their values.
func TestChangingOnACluster(t *testing.T) {
	conn := connect(t)
	here, there := programtest.Load(t, conn, "kronecker:scale=8",
		superstep.LoadOptions{Weights: superstep.Float64, Undirected: true})
	programtest.Same(t, here, there, pregel.List(Contract{}),
		superstep.Options{Deterministic: true})
	core, left := values(t, here, algorithms.KCore{K: 7}), map[uint64]bool{}
	for label, v := range programtest.Same(t, here, there, Prune{K: 7}, superstep.Options{}).All() {
		if left[label] = true; v < 7 {
			t.Errorf("vertex %d has %d edges", label, v)
		}
	}
	maps.DeleteFunc(core, func(_ uint64, v int64) bool { return v == 0 })
	if !slices.Equal(slices.Sorted(maps.Keys(core)), slices.Sorted(maps.Keys(left))) ||
		len(left) == 0 {
		t.Errorf("%d vertices are left of a core of %d", len(left), len(core))
	}
	programtest.Same(t, here, there, Prune{K: 1 << 20}, superstep.Options{}) // nothing remains
	programtest.Same(t, here, there, Prune{K: 0}, superstep.Options{})       // nothing is removed

	res := programtest.Same(t, here, there, Shadow{}, superstep.Options{})
	largest := uint64(0)
	for v := range here.NumVertices() {
		largest = max(largest, here.Label(id(v)))
	}
	for v := range here.NumVertices() {
		label := here.Label(id(v))
		shadow, ok := res.At(largest + 1 + uint64(v))
		if ok != (label%2 == 0) || ok && shadow != strings.Repeat("s", int(label%50)) {
			t.Errorf("the shadow of %d is %q, %t", label, shadow, ok)
		}
		if _, ok := res.At(label); ok != (label%3 != 0) {
			t.Errorf("vertex %d is there: %t", label, ok)
		}
	}
}

// TestChangedGraphsAreFreed: runs that change the graph in several supersteps free all arrays when
// their graphs are closed.
func TestChangedGraphsAreFreed(t *testing.T) {
	mem.SetProcess(mem.NewBudget(1<<40, ""))
	defer mem.SetProcess(nil)
	for range 2 {
		g, err := superstep.Load(t.Context(), "path:vertices=40000",
			superstep.LoadOptions{Undirected: true, Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		before := mem.Process().Use()
		for range 2 {
			res, err := superstep.Run(t.Context(), g, Prune{K: 2},
				superstep.Options{MaxSupersteps: 5})
			if err != nil {
				t.Fatal(err)
			}
			if changed := res.Graph(); changed == g || changed.NumVertices() == g.NumVertices() {
				t.Fatal("it has not changed the graph")
			} else {
				changed.Close()
			}
		}
		if after := mem.Process().Use(); after.Memory != before.Memory || before.Memory == 0 {
			t.Errorf("the runs leave %v, and there was %v", after, before)
		}
		g.Close()
	}
	if after := mem.Process().Use(); after.Memory != 0 {
		t.Errorf("after Close the memory in use is %v", after)
	}
}

// After a program has changed the graph on a cluster, the result has no graph, and no job there can
// begin with it. A local run can.
func TestResultWithoutItsGraph(t *testing.T) {
	here, there := programtest.Load(t, connect(t), "kronecker:scale=6",
		superstep.LoadOptions{Undirected: true})
	pruned, err := superstep.Run(t.Context(), there, Prune{K: 3})
	if err != nil {
		t.Fatal(err)
	}
	if g := pruned.Graph(); g != nil {
		t.Errorf("the result has the graph %v", g)
	}
	if _, err := superstep.Run(t.Context(), there, Degrees{},
		superstep.Options{Columns: []superstep.Input{superstep.From(before,
			pruned)}}); err == nil ||
		!strings.HasPrefix(err.Error(),
			"superstep: column before: the result is of a program that has changed the graph on the cluster") {
		t.Errorf("error %v", err)
	}
	read := superstep.From(before, func(label uint64) int64 {
		v, _ := pruned.At(label)
		return v
	})
	want := map[uint64]int64{}
	for v := range here.NumVertices() {
		label := here.Label(id(v))
		want[label], _ = pruned.At(label)
	}
	for name, run := range map[string]func() (*superstep.Result[int64], error){
		"a result from a cluster, here": func() (*superstep.Result[int64], error) {
			return superstep.Run(t.Context(), here, Degrees{},
				superstep.Options{Columns: []superstep.Input{superstep.From(before, pruned)}})
		},
		"a function, there": func() (*superstep.Result[int64], error) {
			return superstep.Run(t.Context(), there, Degrees{},
				superstep.Options{Columns: []superstep.Input{read}})
		},
	} {
		res, err := run()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := maps.Collect(res.All()); !maps.Equal(got, want) {
			t.Errorf("%s: found %v, expected %v", name, got, want)
		}
	}
	there.Close()
	defer func() {
		if recover() == nil {
			t.Error("a result is read whose graph is closed")
		}
	}()
	for range pruned.Top(1, cmp.Compare) {
	}
}

// Degrees returns the initial values of a column.
type Degrees struct{}

var before = pregel.NewVertexColumn[int64]("before")

func (Degrees) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Degrees) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{before}}
}

func (Degrees) Compute(v *pregel.Vertex[int64, bool], _ bool) {
	v.Set(before.Of(v))
	v.VoteToHalt()
}

// values returns the values of a local run.
func values[V, M any](t *testing.T, g *superstep.Graph, p pregel.Program[V, M]) map[uint64]V {
	t.Helper()
	res, err := superstep.Run(t.Context(), g, p)
	if err != nil {
		t.Fatal(err)
	}
	return maps.Collect(res.All())
}
