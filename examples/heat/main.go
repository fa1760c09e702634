// Command heat computes the temperature of a uniformly heated plate with its sides held at 0. This
// is Poisson's equation, the usual test of solvers of linear systems. The graph has an edge for
// every entry of the matrix, and the method of conjugate gradients solves the system on it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
)

// side is the number of grid points along a side of the plate. Point i, j is vertex i*side+j.
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

	// The right-hand side is the same at every point: the heat source, 1, times the square of the
	// distance between two points, 1/100.
	heat := superstep.From(algorithms.CGRightSide,
		func(uint64) float64 { return 1.0 / (100 * 100) })
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
