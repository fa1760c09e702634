package engine_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
)

// TestRatesAreMeasuredOnce: a run uses the measurements of the previous run on the graph, so the
// same superstep has the same predictions. Two measurements would differ.
func TestRatesAreMeasuredOnce(t *testing.T) {
	g, err := superstep.Load(t.Context(), "kronecker:scale=12", superstep.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	first := predicted(t, g, algorithms.PageRank{Iterations: 2})
	if len(first) == 0 {
		t.Fatal("nothing is predicted")
	}
	if again := predicted(t, g, algorithms.PageRank{Iterations: 2}); !maps.Equal(first, again) {
		t.Errorf("the first run predicted %v, the second %v", first, again)
	}
}

// predicted runs a program and returns the predictions of its second superstep.
func predicted(t *testing.T, g *superstep.Graph, p algorithms.PageRank) map[string]float64 {
	t.Helper()
	var lines bytes.Buffer
	if _, err := superstep.Run(t.Context(), g, p,
		superstep.Options{Threads: 1, Trace: &lines}); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines.Bytes()) {
		var step struct {
			Superstep int
			Predicted map[string]float64
		}
		if err := json.Unmarshal(line, &step); err != nil {
			t.Fatal(err)
		}
		if step.Superstep == 1 && len(step.Predicted) > 0 {
			return step.Predicted
		}
	}
	return nil
}
