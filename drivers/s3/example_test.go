package s3_test

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	_ "github.com/superstep-go/superstep/drivers/s3"
)

// This example loads a graph from a bucket. It needs one, so it is only compiled.
func Example() {
	g, err := superstep.Load(context.Background(), "s3://graphs/roads.el")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	fmt.Println(g.NumVertices())
}
