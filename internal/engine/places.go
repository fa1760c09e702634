package engine

import (
	"fmt"
	"math"
)

// mostPlaces is how many edges of a partition can be numbered, in both directions together where
// the program's messages go both ways. Tests lower it.
var mostPlaces = math.MaxUint32

// checkPlaces refuses a partition with more edges that have properties than can be numbered.
func (r *runner) checkPlaces() error {
	for _, c := range r.job.methods.properties {
		if n := r.elements(c); c.OfEdges && n > mostPlaces {
			return fmt.Errorf("%d edges with properties in one partition: at most %d; use more partitions (--partitions)", n, mostPlaces)
		}
	}
	return nil
}
