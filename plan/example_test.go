package plan_test

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Peel finds the k-core: in each round it removes vertices with fewer than K neighbours left, until
// no vertex is removed.
type Peel struct{ K int }

var (
	removed = pregel.NewVertexColumn[bool]("removed")
	gone    = pregel.SumOf[int]("gone")
)

func (p Peel) Plan() pregel.Plan {
	return plan.Repeat(func(r *plan.Round) bool { return gone.Value(r) == 0 },
		plan.Phase(peeling{p.K}))
}

func (Peel) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Peel) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{removed}}
}

func (Peel) Compute(v *pregel.Vertex[bool, bool], _ bool) {
	v.Set(!removed.Of(v))
	v.VoteToHalt()
}

// peeling counts the remaining neighbours, and removes vertices with too few.
type peeling struct{ k int }

func (peeling) Combiner() pregel.Combiner[int] { return combiners.Count[int]() }
func (peeling) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{gone}, Columns: []pregel.Column{removed}}
}

func (p peeling) Compute(v *pregel.Vertex[struct{}, int], left int) {
	switch {
	case removed.Of(v):
	case v.Superstep() == 0:
		v.SendToAllNeighbors(1)
		return // stay awake: a vertex without remaining neighbours gets no message
	case left < p.k:
		removed.Set(v, true)
		gone.Add(v, 1)
	}
	v.VoteToHalt()
}

// Repeat runs a phase until its aggregator reports that nothing changed.
func ExampleRepeat() {
	ctx := context.Background()
	edges := []superstep.Edge{{From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 1}, {From: 3, To: 4}, {From: 4, To: 5}}
	g, err := superstep.FromEdges(ctx, edges, superstep.LoadOptions{Undirected: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	core, err := superstep.Run(ctx, g, Peel{K: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for vertex := range uint64(5) {
		in, _ := core.At(vertex + 1)
		fmt.Println(vertex+1, in)
	}
	// Output:
	// 1 true
	// 2 true
	// 3 true
	// 4 false
	// 5 false
}
