package algorithms_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
)

// PageRank on a generated graph. The example prints the first three vertices.
func Example() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "star:vertices=5")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, algorithms.PageRank{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for vertex, rank := range res.Top(3, cmp.Compare) {
		fmt.Printf("%d %.2f\n", vertex, rank)
	}
	// Output:
	// 0 0.48
	// 1 0.13
	// 2 0.13
}
