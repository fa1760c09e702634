// Command leaves removes all vertices with at most one edge from a graph, and repeats this until
// every vertex has at least two. The trees that hang from the graph disappear; the cycles and the
// paths between them stay. The result has the changed graph. The loaded graph stays as it is.
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

// Leaves is the program. A message announces the removal of a neighbour. The value of a vertex is
// its number of edges.
type Leaves struct{}

// Combiner merges the messages to a vertex: the number of removed neighbours does not matter.
func (Leaves) Combiner() pregel.Combiner[bool] { return combiners.Or() }

// Traits declares that the program changes the graph.
func (Leaves) Traits() pregel.Traits {
	return pregel.Traits{
		Mutates: true,
	}
}

// Compute runs on all vertices in the first superstep, and later on vertices that lost an edge.
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
	// An undirected edge is stored as two arcs.
	fmt.Printf("loaded: %d vertices, %d edges\n", g.NumVertices(), g.NumEdges()/2)
	fmt.Printf("left after %d supersteps: %d vertices, %d edges\n", res.Supersteps,
		left.NumVertices(), left.NumEdges()/2)

	// Other programs can run on the remaining graph.
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
