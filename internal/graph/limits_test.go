package graph

import (
	"fmt"
	"testing"
)

// TestSmallGraphsBuiltAsLargeOnes compares with the slow twin what is built in many small pieces, in each of the ways that
// else only graphs of many million arcs are built in.
func TestSmallGraphsBuiltAsLargeOnes(t *testing.T) {
	before := limits
	defer func() { limits = before }()
	for _, l := range []struct{ linkGrain, bucketArcs, narrowBuckets, indexedArcs, chunkCost, idBits int }{
		{linkGrain: 7, bucketArcs: 100, narrowBuckets: 3, indexedArcs: 1 << indexBits, chunkCost: 1, idBits: 30},
		{linkGrain: 64, bucketArcs: 1 << 16, narrowBuckets: 8 << 10, indexedArcs: 20, chunkCost: 300, idBits: 1},
	} {
		limits = l
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			sizes := [][2]int{{5, 8}, {64, 50}, {300, 3000}}
			buildAgainstSlowTwin(t, sizes, 1, 3)
			buildAgainstSlowTwin(t, [][2]int{{2 * singleRows, 2 * singleRows}}, 1)
			gridsAgainstSlowTwin(t, sizes, Grid{2, 2}, Grid{3, 2})
		})
	}
}
