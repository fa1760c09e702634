package cli

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/builtin"
)

// TestCertificates: there is one for each built-in program, and for no other.
func TestCertificates(t *testing.T) {
	var want []string
	for _, p := range builtin.Programs() {
		want = append(want, p.Name)
	}
	if got := slices.Sorted(maps.Keys(certificates)); !slices.Equal(got, want) {
		t.Errorf("there are certificates for %v, want %v", got, want)
	}
}

func TestRankTolerance(t *testing.T) {
	for _, test := range []struct {
		p          algorithms.PageRank
		iterations int
		converged  bool
		want       float64
	}{
		{algorithms.PageRank{Damping: 0.5, Iterations: 3}, 3, true, 0.25},                      // by its iterations
		{algorithms.PageRank{Damping: 0.5, Iterations: 9, Tolerance: 0.1}, 2, true, 0.05},      // by its tolerance
		{algorithms.PageRank{Damping: 0.5, Iterations: 9, Tolerance: 0.1}, 8, true, 0.0078125}, // which says less
		{algorithms.PageRank{Damping: 0.5, Iterations: 9, Tolerance: 0.1}, 9, true, 0.00390625},
		{algorithms.PageRank{Damping: 0.5, Iterations: 100, Tolerance: 1e-6}, 4, true, 0.5e-6}, // the defaults
		{algorithms.PageRank{Damping: 0.5, Iterations: 100, Tolerance: 0.1}, 4, false, 0.125},  // stopped from outside
		{algorithms.PageRank{Damping: 1, Iterations: 100}, 100, true, 2},
		{algorithms.PageRank{Iterations: 1}, 1, true, 0}, // nobody follows an edge
	} {
		if got := rankTolerance(test.p, test.iterations, test.converged); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%+v after %d iterations: %g, want %g", test.p, test.iterations, got, test.want)
		}
	}
}
