package engine

import (
	"fmt"
	"math"
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
)

// checkWeights returns an error if the program finds shortest paths, and the graph's weights are so
// large that a path's length might be infinite as a float. In results infinity means that there is
// no path, and the loops over edges do not check for it.
func (r *runner) checkWeights() error {
	m := r.job.methods
	if _, ok := r.kernel.(kernel.Bounded); !ok || !m.traits.Monotone || !m.Reached {
		return nil
	}
	greatest, n := r.greatestWeight(), r.changing.ids
	largest, kind, weight := math.MaxFloat64, "float64", fmt.Sprint(greatest)
	if m.Methods.Weights == reflect.Float32 {
		largest, kind, weight = math.MaxFloat32, "float32", fmt.Sprint(float32(greatest))
	}
	if greatest*float64(n) <= largest/2 { // sums are rounded
		return nil
	}
	return fmt.Errorf("%s: an edge has weight %s: a path over %d vertices might be longer than the largest %s, %.2g",
		r.job.graph.Name, weight, n, kind, largest)
}

// greatestWeight returns the greatest weight of the partition's arcs, or 0 if that is greater.
func (r *runner) greatestWeight() float64 {
	if w, known := r.part.GreatestWeight(); known {
		return w
	}
	var single float32
	var double float64
	for _, ways := range r.layout.Blocks {
		for _, w := range ways.Pull.ByReceiver.Weights32 {
			single = max(single, w)
		}
		for _, w := range ways.Pull.ByReceiver.Weights64 {
			double = max(double, w)
		}
	}
	return max(float64(single), double)
}
