// Command walks has a walker start from every vertex of a graph and go to a neighbour at random,
// again and again, and says where most of them are at the end: about as many as a vertex has edges,
// of all edges. The same seed gives the same walks on any machine.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Walks is the program: a message is a number of walkers, and the value of a vertex how many are
// there at the end.
type Walks struct {
	Steps int
}

// Combiner adds walkers that come to the same vertex.
func (Walks) Combiner() pregel.Combiner[uint32] { return combiners.Sum[uint32]() }

// Init puts a walker on every vertex.
func (p Walks) Init(v *pregel.Vertex[uint32, uint32]) { p.Compute(v, 1) }

// Compute has the walkers at a vertex go on.
func (p Walks) Compute(v *pregel.Vertex[uint32, uint32], walkers uint32) {
	v.VoteToHalt()
	edges := v.OutDegree()
	if v.Superstep() == p.Steps || edges == 0 {
		v.Set(v.Value() + walkers)
		return
	}
	for chance := v.Rand(); walkers > 0; walkers-- {
		v.SendAlongEdge(chance.IntN(edges), 1)
	}
}

func main() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "kronecker:scale=14")
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, Walks{Steps: 10}, superstep.Options{Seed: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d walkers, %d messages\n", g.NumVertices(), res.Messages)
	for label, walkers := range res.Top(5, cmp.Compare) {
		fmt.Printf("vertex %5d has %d\n", label, walkers)
	}
}
