package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/pregel"
)

// TestCheckOnClusterGrid: CheckOnCluster returns the same errors for a grid as a job on a graph in
// that grid.
func TestCheckOnClusterGrid(t *testing.T) {
	program, err := engine.NewProgram(
		pregel.Erase(algorithms.PageRank{Damping: 0.85, Iterations: 3}))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 4, Columns: 1}, {Rows: 1, Columns: 3}, {Rows: 2, Columns: 2}} {
		for _, run := range []*job.Options{
			{},
			{Deterministic: true},
			{Delivery: "naive"},
			{Delivery: "mirrored"},
			{Delivery: "lalp"},
			{Delivery: "push"},
			{Delivery: "ring"},
			{Uncombined: true},
		} {
			o, err := resolve.Options(*run)
			if err != nil {
				t.Fatal(err)
			}
			none := edges.NewPacked(1, 0, program.Weights())
			g, err := build.Local(t.Context(), &edges.Input{Edges: none, Vertices: 1},
				graph.Options{Weights: program.Weights(), Grid: grid})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if bound, err := program.Bind(t.Context(), g, o); err != nil {
				want = err.Error()
				refused++
			} else {
				bound.Close()
			}
			g.Close()
			none.Close()
			got := ""
			if err := engine.CheckOnCluster(t.Context(), program, o, grid); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%v, %v: found %q, expected %q", grid, run, got, want)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
	o, _ := resolve.Options(job.Options{Deterministic: true})
	began := time.Now()
	if err := engine.CheckOnCluster(t.Context(), program, o,
		graph.Grid{Rows: 64, Columns: 64}); err == nil || !strings.Contains(err.Error(), "64x64") {
		t.Errorf("found %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a look at 4,096 partitions took %v", took)
	}
}
