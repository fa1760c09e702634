package graph_test

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/graph"
)

// TestSmallGraphsBuiltAsLargeOnes builds small graphs in many small pieces, by each of the methods
// that are otherwise only used for graphs of many million arcs, and compares them with the slow
// twin.
func TestSmallGraphsBuiltAsLargeOnes(t *testing.T) {
	for _, l := range []struct{ linkGrain, bucketArcs, narrowBuckets, indexedArcs, chunkCost, idBits int }{
		{linkGrain: 7, bucketArcs: 100, narrowBuckets: 3, indexedArcs: 1 << graph.IndexBits, chunkCost: 1, idBits: 30},
		{linkGrain: 64, bucketArcs: 1 << 16, narrowBuckets: 8 << 10, indexedArcs: 20, chunkCost: 300, idBits: 1},
	} {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			defer graph.SetLimits(l.linkGrain, l.bucketArcs, l.narrowBuckets, l.indexedArcs,
				l.chunkCost, l.idBits)()
			sizes := [][2]int{{5, 8}, {64, 50}, {300, 3000}}
			buildAgainstSlowTwin(t, sizes, 1, 3)
			buildAgainstSlowTwin(t, [][2]int{{2 * graph.SingleRows, 2 * graph.SingleRows}}, 1)
			gridsAgainstSlowTwin(t, sizes, graph.Grid{Rows: 2, Columns: 2},
				graph.Grid{Rows: 3, Columns: 2})
		})
	}
}
