package engine_test

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// hubs returns a star with two hubs, whose messages and columns are large enough to be spilled.
func hubs() shape {
	s := shape{name: "hubs", n: 60_000}
	for i := range uint64(s.n - 1) {
		s.tuples = append(s.tuples, [2]uint64{i % 2, i + 1})
	}
	return s
}

// everyone sends each neighbour a separate message, and adds up the received ones. Messages are
// neither combined nor sent to all neighbours at once.
type everyone struct{}

func (everyone) Compute(v *pregel.Vertex[uint64, uint64], came []uint64) {
	for _, m := range came {
		v.Set(v.Value() + m)
	}
	if v.Superstep() < 2 {
		for i := range v.OutDegree() {
			v.SendAlongEdge(i, uint64(v.ID())+uint64(i))
		}
	}
	v.VoteToHalt()
}

// TestBudget: in a budget that spills nearly everything, programs compute the same as without a
// budget, in every delivery.
func TestBudget(t *testing.T) {
	dir := t.TempDir()
	if mem.SpillDir(dir) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	graphs, n := hubs().partitioned(edges.Unweighted), 0
	plain := setting{parts: 1, threads: 2}
	labels, _ := run(t, graphs.in(t, plain), pregel.List(algorithms.CDLP{Iterations: 2}), plain)
	sums := map[int][]uint64{} // messages are ids, which depend on the number of partitions
	for _, way := range settings() {
		if way.threads == 1 || way.parts > 2 || way.o.Uncombined {
			continue
		}
		g := graphs.in(t, way)
		if n++; n%2 == 0 { // a disk is slow
			compareBudgets(t, g, pregel.List(algorithms.CDLP{Iterations: 2}), labels, way, dir,
				mem.Columns) // pulled labels are not messages to single vertices
			continue
		}
		if sums[way.parts] == nil {
			sums[way.parts], _ = run(t, g, pregel.List(everyone{}),
				setting{parts: way.parts, threads: 2})
		}
		compareBudgets(t, g, pregel.List(everyone{}), sums[way.parts], way, dir, mem.Columns,
			mem.Messages)
	}
}

// compareBudgets compares a run in a budget with the values of a run without one. It checks that
// memory of these kinds is spilled.
func compareBudgets[V comparable, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], want []V, way setting, dir string,
	kinds ...string,
) {
	t.Helper()
	spilled := map[string]int64{}
	way.o.Budget = mem.NewBudget(16<<20, dir)
	taken := mem.Arena{Kind: mem.Graph, Budget: way.o.Budget}
	defer taken.Close()
	mem.Make[byte](&taken, 11<<20) // up to the soft limit
	way.o.Progress = func(bsp.Progress) {
		for _, held := range way.o.Budget.Use().Kinds {
			spilled[held.Kind] = max(spilled[held.Kind], held.Spilled)
		}
	}
	got, _ := run(t, g, p, way)
	if !slices.Equal(got, want) {
		t.Errorf("%T, %v: other values in a budget", p, way)
	}
	for _, kind := range kinds {
		if spilled[kind] == 0 {
			t.Errorf("%T, %v: of %s nothing was spilled: %v", p, way, kind, way.o.Budget.Use())
		}
	}
}
