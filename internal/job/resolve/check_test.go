package resolve

import (
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/pregel"
)

// inputs is a program with one vertex column.
type inputs struct{}

var column = pregel.NewVertexColumn[float64]("before")

func (inputs) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (inputs) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{column}}
}
func (inputs) Compute(v *pregel.Vertex[float64, int64], _ int64) { v.Set(column.Of(v)) }

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
