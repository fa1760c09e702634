package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// checkLimits returns an error if a limit is invalid. want describes valid tolerances. A tolerance
// of 0 is never reached.
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

// undirected returns an error for a directed graph, which a program cannot use.
func undirected(g *pregel.GraphInfo, program string) error {
	if g == nil || !g.Directed {
		return nil
	}
	return fmt.Errorf("found a directed graph, expected an undirected one for %s: use --undirected, or LoadOptions.Undirected in Go", program)
}

// endRun ends a run that has converged, or has reached its limit of iterations. If the run has a
// tolerance (watched) and did not reach it, the log gets a line.
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

// mostSupersteps returns the number of supersteps for a number of iterations with each supersteps,
// plus others. If the number is too large it returns 0, which means unknown.
func mostSupersteps(iterations, each, others int) int {
	if iterations > math.MaxInt32/each-others {
		return 0
	}
	return iterations*each + others
}

// A power iteration computes each vector from the one before, and divides it by its length. All
// vertices know the length only a superstep later. So vertices send undivided entries (raw), and
// receivers divide.

var (
	raw     = pregel.NewVertexColumn[float64]("raw").Private()
	squares = pregel.SumOf[float64]("squares").Unreported() // of raw
	// the squares of the changes of divided entries
	moves = pregel.SumOf[float64]("moves").Unreported()
	step  = pregel.MaxOf("change", 0.0).Persistent() // the length of the last change
)

// length returns the length of the last superstep's raw vector, by which receivers divide; 1 if it
// is 0.
func length(t pregel.Context) float64 { return cmp.Or(math.Sqrt(squares.Value(t)), 1) }

// stepLength returns the length of the last superstep's change, and puts it into the report.
func stepLength(c *pregel.Coordinator) float64 {
	change := math.Sqrt(moves.Value(c))
	step.Replace(c, change)
	return change
}

// hash is the output function of SplitMix64 (Steele, Lea, Flood 2014). It is one-to-one.
func hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
