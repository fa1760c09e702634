package engine

import (
	"fmt"
	"math"
)

// mostPlaces is how many edges of a partition can be numbered, in both directions together where the program's messages go both ways. Tests lower it.
var mostPlaces = math.MaxUint32

// bothDegrees returns the degrees of vertices in both directions together, in a slice of that length.
func bothDegrees(sums, out, in []uint32) error {
	for i, d := range out {
		if int(d)+int(in[i]) > mostPlaces {
			return fmt.Errorf("a vertex has %d edges in both directions: at most %d", int(d)+int(in[i]), mostPlaces)
		}
		sums[i] = d + in[i]
	}
	return nil
}

// checkPlaces refuses a partition with more edges that have properties than can be numbered.
func (r *runner) checkPlaces() error {
	for _, c := range r.job.methods.properties {
		if n := r.elements(c); c.OfEdges && n > mostPlaces {
			return fmt.Errorf("%d edges with properties in one partition: at most %d; use more partitions (--partitions)", n, mostPlaces)
		}
	}
	return nil
}
