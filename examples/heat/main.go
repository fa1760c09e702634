// Command heat computes how warm a plate is whose sides are held at 0 and which is heated
// everywhere alike: Poisson's equation, the matrix by which solvers of linear systems are tried. It
// is solved by conjugate gradients, on the graph whose edges are the matrix's entries.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
)

// side is how many points of the plate there are on a side; point i, j is vertex i*side+j.
const side = 99

func main() {
	ctx := context.Background()
	var entries []superstep.Edge
	for i := range uint64(side) {
		for j := range uint64(side) {
			point := i*side + j
			// the diagonal
			entries = append(entries, superstep.Edge{From: point, To: point, Weight: 4})
			if j+1 < side {
				entries = append(entries, superstep.Edge{From: point, To: point + 1, Weight: -1})
			}
			if i+1 < side {
				entries = append(entries, superstep.Edge{From: point, To: point + side, Weight: -1})
			}
		}
	}
	matrix, err := superstep.FromEdges(ctx, entries,
		superstep.LoadOptions{Undirected: true, Weights: superstep.Float64})
	if err != nil {
		log.Fatal(err)
	}
	defer matrix.Close()

	// The right-hand side is the heat that comes to a point: one over the square of the distance
	// between two, 1/100, at every point.
	heat := superstep.From(algorithms.CGRightSide, func(uint64) float64 { return 1.0 / (100 * 100) })
	res, err := superstep.Run(ctx, matrix, algorithms.CG{},
		superstep.Options{Columns: []superstep.Input{heat}, Deterministic: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d unknowns, %d entries, %d supersteps\n", matrix.NumVertices(), matrix.NumEdges(),
		res.Supersteps)
	for _, at := range []uint64{0, 12, 24, 49} {
		x, _ := res.At(at*side + at)
		fmt.Printf("%3d%% of the way along the diagonal: %.5f\n", at+1, x)
	}
}
