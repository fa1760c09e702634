package testcluster

import (
	"fmt"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// TestLoadsAtOnce loads several graphs concurrently on workers that have not measured the network,
// and then more. Although measurements end in a different order at each worker, all workers choose
// the same algorithms, and no load waits forever.
func TestLoadsAtOnce(t *testing.T) {
	for range 2 {
		c := Start(t, 3, master.Config{}, programs()...)
		source := &job.Source{Input: "uniform:vertices=1000,degree=8"}
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { c.load(t, fmt.Sprintf("first%d", i), source, 0, 0) })
		}
		all.Wait()
		for i := range 2 {
			if g := c.load(t, fmt.Sprintf("later%d", i), source, 0, 0); g.Vertices != 1000 {
				t.Fatalf("found %v", g)
			}
		}
	}
}
