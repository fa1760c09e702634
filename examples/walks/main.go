// Command walks starts a random walker on every vertex of a graph and prints the vertices with the
// most walkers at the end. A vertex's share of the walkers comes near its share of the edges. The
// same seed gives the same walks on any machine.
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

// Walks is the program. A message carries a number of walkers. The value of a vertex is the number
// of walkers that end there.
type Walks struct {
	Steps int
}

// Combiner adds up the walkers that move to the same vertex.
func (Walks) Combiner() pregel.Combiner[uint32] { return combiners.Sum[uint32]() }

// Init starts a walker on every vertex.
func (p Walks) Init(v *pregel.Vertex[uint32, uint32]) { p.Compute(v, 1) }

// Compute moves the walkers at a vertex. After the last step, or without edges, it counts them.
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
