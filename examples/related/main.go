// Command related finds the vertices near the most important vertex of a graph. A first PageRank
// run finds the most important vertex. A second run, personalized to it, ranks the vertices near
// it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
)

func main() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "rmat:scale=12") // or the name of a file
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	options := superstep.Options{Deterministic: true}
	ranks, err := superstep.Run(ctx, g, algorithms.PageRank{}, options)
	if err != nil {
		log.Fatal(err)
	}
	var source pregel.VertexID
	for label, rank := range ranks.Top(1, cmp.Compare) {
		fmt.Printf("the first is %d, with rank %.4f\n", label, rank)
		source, _ = g.Vertex(label)
	}
	near, err := superstep.Run(ctx, g, algorithms.PageRank{Sources: []pregel.VertexID{source}},
		options)
	if err != nil {
		log.Fatal(err)
	}
	for label, rank := range near.Top(5, cmp.Compare) {
		everywhere, _ := ranks.At(label)
		fmt.Printf("%4d  %.4f from there, %.4f from everywhere\n", label, rank, everywhere)
	}
}
