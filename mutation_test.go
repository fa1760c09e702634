package superstep_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Prune removes vertices with fewer than K edges until none is left. The result is the k-core.
type Prune struct{ K int }

func (Prune) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Prune) Traits() pregel.Traits           { return pregel.Traits{Mutates: true} }

func (p Prune) Compute(v *pregel.Vertex[struct{}, bool], _ bool) {
	if v.OutDegree() < p.K {
		v.SendToAllNeighbors(true) // wake them, because they have one edge less now
		v.Change().RemoveVertex(v.ID())
	}
	v.VoteToHalt()
}

func ExampleResult_Graph() {
	ctx := context.Background()
	edges := []superstep.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 1}, {From: 3, To: 4}, {From: 4, To: 5}}
	g, err := superstep.FromEdges(ctx, edges, superstep.LoadOptions{Undirected: true})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	pruned, err := superstep.Run(ctx, g, Prune{K: 2})
	if err != nil {
		panic(err)
	}
	core := pruned.Graph() // another program can run on the remaining graph
	defer core.Close()
	components, err := superstep.Run(ctx, core, algorithms.WCC{})
	if err != nil {
		panic(err)
	}
	var left []uint64
	for id := range components.All() {
		left = append(left, id)
	}
	slices.Sort(left)
	fmt.Println(left, "of", g.NumVertices(), "with", core.NumEdges()/2, "edges")
	// Output: [1 2 3] of 5 with 3 edges
}

// A graph changed by a program shares arrays with the loaded graph. It stays valid, whichever is
// closed first.
func TestGraphOfAResultOutlivesTheLoadedOne(t *testing.T) {
	for _, parts := range []int{1, 3} {
		g, err := superstep.Load(t.Context(), "kronecker:scale=8",
			superstep.LoadOptions{Partitions: parts})
		if err != nil {
			t.Fatal(err)
		}
		first, err := superstep.Run(t.Context(), g, Prune{K: 3})
		if err != nil {
			t.Fatal(err)
		}
		// removed vertices take no part
		again, err := superstep.Run(t.Context(), first.Graph(), Prune{K: 5})
		if err != nil {
			t.Fatal(err)
		}
		n := again.Graph().NumVertices()
		if first.Graph().NumVertices() >= g.NumVertices() || n >= first.Graph().NumVertices() ||
			n == 0 {
			t.Errorf("%d, %d and %d vertices", g.NumVertices(), first.Graph().NumVertices(), n)
		}
		g.Close()
		first.Graph().Close()
		res, err := superstep.Run(t.Context(), again.Graph(), algorithms.WCC{})
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for range res.All() {
			count++
		}
		if count != n {
			t.Errorf("%d values of %d vertices", count, n)
		}
		again.Graph().Close()
	}
}
