package load

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
)

// From returns what to load, and how to store it.
func From(s *job.Source) (Request, graph.Options, error) {
	request := Request{
		Name: s.Input, Directed: s.Directed, MaxExpand: int64(s.MaxExpand),
		SkipBad: int(s.SkipBad), Within: s.Within,
	}
	request.Columns = graphio.Columns{
		Source: s.SourceColumn, Target: s.TargetColumn, Weight: s.WeightColumn,
		Delimiter: s.Delimiter, Header: s.Header, IDs: strings.TrimPrefix(s.IDs, "auto"),
		Vertices: s.Vertices, Vertex: s.VertexColumn,
	}
	store := graph.Options{DropLoops: s.SelfLoops == "drop", UnitWeights: s.UnitWeights}
	var wrong [3]error
	request.Format, wrong[0] = job.Word("format", s.Format, graphio.ParseFormat)
	store.Duplicates, wrong[1] = job.Word("duplicates", s.Duplicates, graph.ParseDuplicates)
	_, wrong[2] = job.Word("delimiter", s.Delimiter, graphio.ParseDelimiter)
	if err := cmp.Or(wrong[:]...); err != nil {
		return request, store, err
	}
	switch s.Weights {
	case "":
		store.Weights, request.IfAny = edges.Float64, !s.UnitWeights
	case "none":
	case "float32":
		store.Weights = edges.Float32
	case "float64":
		store.Weights = edges.Float64
	default:
		return request, store,
			fmt.Errorf("weights: found %.40q, expected none, float32 or float64", s.Weights)
	}
	if request.Weights = store.Weights; s.UnitWeights {
		request.Weights = edges.Unweighted
	}
	return request, store, nil
}
