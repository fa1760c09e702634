package benchmark

import (
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/trace"
)

// TestKernel3IsLookedAtWhereItRuns: an option that only kernel 2 supports is refused if kernel 3
// runs, too.
func TestKernel3IsLookedAtWhereItRuns(t *testing.T) {
	for _, sssp := range []bool{false, true} {
		err := Check(nil, &job.Spec{
			Program:  trace.Graph500,
			Graph500: &job.Graph500{Scale: 10, EdgeFactor: 16, Roots: 1, SSSP: sssp},
			Options:  job.Options{Delivery: "ring"},
		}, graph.Grid{Rows: 2, Columns: 2})
		if refused := err != nil && strings.HasPrefix(err.Error(), "SSSPTree[float32]: ") &&
			strings.Contains(err.Error(), "use delivery pull"); refused != sssp || err != nil &&
			!refused {
			t.Errorf("with kernel 3 %t: found %v", sssp, err)
		}
	}
}

// TestBenchmarksHaveNoColumns: a benchmark with columns is refused, even if they are empty.
func TestBenchmarksHaveNoColumns(t *testing.T) {
	for _, columns := range []map[string]*job.ColumnData{{"b": {ID: "x"}}, {"b": nil}} {
		graph500 := &job.Spec{
			Program:  trace.Graph500,
			Graph500: &job.Graph500{Scale: 10, EdgeFactor: 16, Roots: 1}, ColumnData: columns,
		}
		netbench := &job.Spec{Program: control.NetbenchProgram, Netbench: &job.Netbench{}, ColumnData: columns}
		for _, err := range []error{Check(nil, graph500, graph.Of(1)), resolve.CheckNetbench(nil,
			netbench, graph.Of(1))} {
			if err == nil || !strings.Contains(err.Error(), "columns") {
				t.Errorf("error %v, expected that there are no columns", err)
			}
		}
	}
}

// TestBenchmarksHaveNoNumbers: a benchmark has no numbers of vertices.
func TestBenchmarksHaveNoNumbers(t *testing.T) {
	graph500 := &job.Spec{
		Program: trace.Graph500, Numbered: true,
		Graph500: &job.Graph500{Scale: 10, EdgeFactor: 16, Roots: 1},
	}
	netbench := &job.Spec{
		Program: control.NetbenchProgram, Numbered: true, Netbench: &job.Netbench{},
	}
	if Check(nil, graph500, graph.Of(1)) == nil ||
		resolve.CheckNetbench(nil, netbench, graph.Of(1)) == nil {
		t.Error("a benchmark with numbers was accepted")
	}
}

// TestSearched uses only the numbers that a worker reports for every search.
func TestSearched(t *testing.T) {
	for _, c := range []struct {
		result *control.KernelResult
		want   int
	}{
		{nil, 0},
		{&control.KernelResult{Time: []float64{1}}, 0},
		{&control.KernelResult{Time: []float64{1, 2}, Translate: []float64{0, 0}, Nedge: []uint64{3}}, 1},
		{&control.KernelResult{Time: []float64{1, math.NaN()}, Translate: []float64{0, 0}, Nedge: []uint64{3, 3}}, 1},
		{&control.KernelResult{Time: []float64{0}, Translate: []float64{0}, Nedge: []uint64{3}}, 0},
		{&control.KernelResult{Time: []float64{1}, Translate: []float64{0}, Nedge: []uint64{0}}, 0},
		{&control.KernelResult{Time: []float64{1}, Translate: []float64{0}, Nedge: []uint64{1 << 63}}, 0},
	} {
		k := Searched(c.result)
		if len(k.Time) != c.want || len(k.Translate) != c.want || len(k.Nedge) != c.want ||
			len(k.Validate) > c.want {
			t.Errorf("of %v: %+v, expected %d searches", c.result, k, c.want)
		}
	}
}
