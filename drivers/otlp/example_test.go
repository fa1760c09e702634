package otlp_test

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	_ "github.com/superstep-go/superstep/drivers/otlp"
)

// If OTEL_EXPORTER_OTLP_ENDPOINT is set, this run sends a trace to a collector.
func Example() {
	ctx := context.Background()
	g, err := superstep.Load(ctx, "path:vertices=3")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	res, err := superstep.Run(ctx, g, algorithms.WCC{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Converged)
	// Output: true
}
