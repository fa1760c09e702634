// Command leaves removes from a graph all vertices with one edge or none, and again those that are
// left so, until there are none: the trees that hang from it fall off, and its cycles and what
// joins them stay. The program changes the graph that it runs on; the one that was loaded stays as
// it is.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Leaves is the program. A message says that a neighbour is removed; a vertex's value is how many
// edges it has.
type Leaves struct{}

// Combiner: how many neighbours have been removed does not matter.
func (Leaves) Combiner() pregel.Combiner[bool] { return combiners.Or() }

// Traits are the program's facts.
func (Leaves) Traits() pregel.Traits {
	return pregel.Traits{
		Mutates: true,
	}
}

// Compute runs on all vertices first, and then on those that have lost an edge.
func (Leaves) Compute(v *pregel.Vertex[int, bool], _ bool) {
	v.Set(v.OutDegree())
	if v.OutDegree() < 2 {
		v.SendToAllNeighbors(true)
		v.Change().RemoveVertex(v.ID())
	}
	v.VoteToHalt()
}

func main() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "rmat:scale=12,edgefactor=1",
		superstep.LoadOptions{Undirected: true, SelfLoops: superstep.DropSelfLoops, Duplicates: superstep.FirstDuplicates})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, Leaves{})
	if err != nil {
		log.Fatal(err)
	}
	left := res.Graph()
	defer left.Close()
	// an undirected edge is stored both ways
	fmt.Printf("loaded: %d vertices, %d edges\n", g.NumVertices(), g.NumEdges()/2)
	fmt.Printf("left after %d supersteps: %d vertices, %d edges\n", res.Supersteps,
		left.NumVertices(), left.NumEdges()/2)

	// Other programs run on what is left.
	components, err := superstep.Run(ctx, left, algorithms.WCC{})
	if err != nil {
		log.Fatal(err)
	}
	sizes := map[pregel.VertexID]int{}
	for _, c := range components.All() {
		sizes[c]++
	}
	fmt.Println("components of what is left:", len(sizes))
}
