package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// checkLimits refuses what is no limit; want says what a tolerance may be. A tolerance of 0 is
// never reached.
func checkLimits(iterations int, tolerance float64, want string) error {
	var errs []error
	if iterations < 0 {
		errs = append(errs, fmt.Errorf("iterations is %d, want 1 or more", iterations))
	}
	switch {
	case !(tolerance >= 0):
		errs = append(errs, fmt.Errorf("tolerance is %g, want %s", tolerance, want))
	case math.IsInf(tolerance, 1):
		errs = append(errs, fmt.Errorf("tolerance is %g, want a finite number", tolerance))
	}
	return errors.Join(errs...)
}

// endRun ends a run that has converged, or has come to its limit of iterations; the log says so if
// it was to converge before.
func endRun(c *pregel.Coordinator, converged, atLimit, watched bool) {
	switch {
	case converged:
		c.Halt()
	case atLimit:
		if c.HaltAtIterations(); watched {
			c.Logf("the iterations ended before the tolerance was reached")
		}
	}
}

// mostSupersteps returns how many supersteps a run has that does so many iterations of so many
// each, and others beside; 0, which is not known, of so many iterations that nobody will see the
// end.
func mostSupersteps(iterations, each, others int) int {
	if iterations > math.MaxInt32/each-others {
		return 0
	}
	return iterations*each + others
}

// Power iterations make every vector of the one before and divide it by its length, which all
// vertices know only a superstep later. So what a vertex sends is raw, and whoever receives it
// divides.

var (
	raw     = pregel.NewVertexColumn[float64]("raw").Private()
	squares = pregel.SumOf[float64]("squares").Unreported() // of what is raw
	// the squares of the changes of divided values
	moves = pregel.SumOf[float64]("moves").Unreported()
	step  = pregel.MaxOf("change", 0.0).Persistent() // the length of the last change
)

// length returns the length of the raw vector of the last superstep, by which to divide.
func length(t pregel.Context) float64 { return cmp.Or(math.Sqrt(squares.Value(t)), 1) }

// stepLength returns the length of the change in the last superstep, and reports it.
func stepLength(c *pregel.Coordinator) float64 {
	change := math.Sqrt(moves.Value(c))
	step.Replace(c, change)
	return change
}

// hash is the mix of SplitMix64 (Steele, Lea, Flood 2014). Different numbers have different hashes.
func hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
