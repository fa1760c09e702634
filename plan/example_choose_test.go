package plan_test

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// Rounds runs a phase twice, and another one if that found something. Its value is whether a vertex
// was counted.
type Rounds struct{}

var (
	counted = pregel.NewVertexColumn[int]("counted")
	found   = pregel.SumOf[int]("found")
)

// count adds to the column of vertices with out-edges.
type count struct{ by int }

func (count) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (count) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{found}, Columns: []pregel.Column{counted}}
}

func (p count) Compute(v *pregel.Vertex[struct{}, bool], _ bool) {
	if v.OutDegree() > 0 {
		counted.Set(v, counted.Of(v)+p.by)
		found.Add(v, 1)
	}
	v.VoteToHalt()
}

func (Rounds) Plan() pregel.Plan {
	twice := func(r *plan.Round) bool { return r.Number == 1 }
	some := func(r *plan.Round) bool { return r.Supersteps > 0 && found.Value(r) > 0 }
	return plan.Sequence(
		plan.Repeat(twice, plan.Phase(count{1})),
		plan.Choose(some, plan.Phase(count{10}), plan.Phase(count{100})),
	)
}

func (Rounds) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Rounds) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{counted}}
}

func (Rounds) Compute(v *pregel.Vertex[int, bool], _ bool) {
	v.Set(counted.Of(v))
	v.VoteToHalt()
}

// Conditions determine which phase runs next.
func ExampleChoose() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{{From: 1, To: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, Rounds{})
	if err != nil {
		fmt.Println(err)
		return
	}
	source, _ := res.At(1)
	target, _ := res.At(2)
	fmt.Println(source, target)
	// Output: 12 0
}
