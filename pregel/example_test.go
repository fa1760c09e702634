package pregel_test

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Hops counts the fewest edges from Source to every vertex.
type Hops struct {
	Source pregel.VertexID `param:"source" help:"vertex to count from"`
}

// farthest is the greatest value set in any superstep of the run.
var farthest = pregel.MaxOf("farthest", int64(0)).Persistent()

func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }
func (Hops) Traits() pregel.Traits {
	return pregel.Traits{Aggregators: []pregel.Aggregate{farthest}}
}

func (p Hops) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (Hops) Compute(v *pregel.Vertex[int64, int64], hops int64) {
	if hops < v.Value() {
		v.Set(hops)
		farthest.Add(v, hops)
		v.SendToAllNeighbors(hops + 1)
	}
	v.VoteToHalt()
}

// This program uses a combiner and an aggregator.
func Example() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "path:vertices=5")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	source, _ := g.Vertex(1)
	res, err := superstep.Run(ctx, g, Hops{Source: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	for label := range uint64(5) {
		hops, _ := res.At(label)
		fmt.Println(label, hops)
	}
	fmt.Println("farthest:", farthest.Value(res))
	// Output:
	// 0 1
	// 1 0
	// 2 1
	// 3 2
	// 4 3
	// farthest: 3
}
