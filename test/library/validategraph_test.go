package library_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// choosy runs only on the graph that its parameter describes. Its error describes any other graph.
type choosy struct {
	Wants string `param:"wants"`
}

func (choosy) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (c choosy) Validate(g *pregel.GraphInfo) error {
	if g == nil {
		return nil
	}
	if c.Wants == "panic" {
		panic("no graph will do")
	}
	if found := fmt.Sprintf("%+v", *g); found != c.Wants {
		return errors.New("found " + found)
	}
	return nil
}

func (choosy) Compute(v *pregel.Vertex[int64, int64], _ int64) { v.VoteToHalt() }

// TestValidateGraph: Validate gets information about the graph and refuses it before the run. On a
// cluster it refuses before there is a job.
func TestValidateGraph(t *testing.T) {
	c, conn := connected(t)
	jobsBefore := len(jobs(t, c))
	ran := 0
	for _, options := range []superstep.LoadOptions{{Partitions: 1}, {Partitions: 4, Undirected: true, Weights: superstep.NoWeights}, {Grid: superstep.Grid{Rows: 2, Columns: 2}, UnitWeights: true}} {
		here, err := superstep.Load(t.Context(), "uniform:vertices=30,degree=4", options)
		here = open(t, here, err)
		there, err := conn.Load(t.Context(), "uniform:vertices=30,degree=4", options)
		there = open(t, there, err)
		for _, g := range []*superstep.Graph{here, there} {
			wants := choosy{Wants: fmt.Sprintf("{NumVertices:30 NumEdges:%d Directed:%t Weighted:%t Partitions:%d}", g.NumEdges(), g.IsDirected(), options.UnitWeights, g.Partitions())}
			if err := run(t, g, wants); err != nil {
				t.Errorf("%+v: %v", options, err)
			}
			err := run(t, g, choosy{})
			refusedWith(t, err, ": found "+wants.Wants)
			if err != nil && !strings.Contains(err.Error(), "choosy: ") {
				t.Errorf("the error does not name the program: %v", err)
			}
			err = run(t, g, choosy{Wants: "panic"})
			refusedWith(t, err, "no graph will do")
			ran++
		}
	}
	if n := len(jobs(t, c)) - jobsBefore; ran != 6 || n != 3 {
		t.Errorf("the cluster ran %d jobs, expected 3", n)
	}
}
