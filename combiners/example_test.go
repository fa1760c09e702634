package combiners_test

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Strength computes the sum of the weights of a vertex's in-edges.
type Strength struct{}

func (Strength) Combiner() pregel.Combiner[float64] { return combiners.SumTimes[float64]() }

func (Strength) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(1) // arrives multiplied by the edge's weight
	}
	v.Set(sum)
	v.VoteToHalt()
}

// A semiring applies the weight of each edge to a message, which is the same for all neighbours.
func ExampleSumTimes() {
	ctx := context.Background()
	g, err := superstep.FromEdges(ctx, []superstep.Edge{
		{From: 1, To: 3, Weight: 2.5}, {From: 2, To: 3, Weight: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, Strength{})
	if err != nil {
		fmt.Println(err)
		return
	}
	strength, _ := res.At(3)
	fmt.Println(strength)
	// Output: 6.5
}
