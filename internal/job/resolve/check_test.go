package resolve

import (
	"strings"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// TestKernel3IsLookedAtWhereItRuns: an option that only kernel 2 supports is refused if kernel 3
// runs, too.
func TestKernel3IsLookedAtWhereItRuns(t *testing.T) {
	for _, sssp := range []bool{false, true} {
		err := CheckGraph500(nil, &job.Spec{
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

// inputs is a program with one vertex column.
type inputs struct{}

var column = pregel.NewVertexColumn[float64]("before")

func (inputs) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (inputs) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{column}}
}
func (inputs) Compute(v *pregel.Vertex[float64, int64], _ int64) { v.Set(column.Of(v)) }

// TestBenchmarksHaveNoColumns: a benchmark with columns is refused, even if they are empty.
func TestBenchmarksHaveNoColumns(t *testing.T) {
	for _, columns := range []map[string]*job.ColumnData{{"b": {ID: "x"}}, {"b": nil}} {
		graph500 := &job.Spec{
			Program:  trace.Graph500,
			Graph500: &job.Graph500{Scale: 10, EdgeFactor: 16, Roots: 1}, ColumnData: columns,
		}
		netbench := &job.Spec{Program: control.NetbenchProgram, Netbench: &job.Netbench{}, ColumnData: columns}
		for _, err := range []error{CheckGraph500(nil, graph500, graph.Of(1)), CheckNetbench(nil,
			netbench, graph.Of(1))} {
			if err == nil || !strings.Contains(err.Error(), "columns") {
				t.Errorf("error %v, expected that there are no columns", err)
			}
		}
	}
}

// TestInputs: input columns need a graph of the catalog, existing columns, and results.
func TestInputs(t *testing.T) {
	programs := engine.Registry{engine.Register("inputs", pregel.Erase(inputs{}))}
	for want, spec := range map[string]*job.Spec{
		"": {Graph: "g", Inputs: map[string]string{"before": "j-1"}},
		`inputs: its Traits lists no column "after", only before`:                                           {Graph: "g", Inputs: map[string]string{"after": "j-1"}},
		`column "before": found a result, expected a column of vertices, in a graph of the catalog`:         {Source: &job.Source{Input: "star:vertices=3"}, Inputs: map[string]string{"before": "j-1"}},
		`inputs: its Traits lists no column "next", only before`:                                            {Graph: "g", ColumnData: map[string]*job.ColumnData{"next": {}}},
		`column "before": found a result and values, expected one of them`:                                  {Graph: "g", Inputs: map[string]string{"before": "j-1"}, ColumnData: map[string]*job.ColumnData{"before": {}}},
		`column "before": found values by number, expected a column of vertices, in a graph of the catalog`: {Source: &job.Source{Input: "star:vertices=3"}, ColumnData: map[string]*job.ColumnData{"before": {}}},
	} {
		spec.Program = "inputs"
		found := ""
		if err := CheckProgram(programs, spec, graph.Of(2)); err != nil {
			found = err.Error()
		}
		if found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
}
