package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
)

// TestSharesAreTheWhole: the tuples of all parts, for any number of parts, are bit for bit those of
// the whole list.
func TestSharesAreTheWhole(t *testing.T) {
	for _, g := range samples {
		tuples, weights := all(Lazy(g, true))
		for _, ranks := range []int{1, 2, 3, 5, 11} {
			for _, lazily := range []bool{false, true} {
				var gotTuples [][2]uint64
				var gotWeights []float64
				for rank := range ranks {
					s, err := RankInput(t.Context(), g, rank, ranks, lazily,
						Options{Weights: edges.Float64})
					if err != nil {
						t.Fatal(err)
					}
					if s.Name != g.Name() || uint64(s.Vertices) != g.Vertices() ||
						s.Directed != g.Directed() || s.Naming != edges.Numbers {
						t.Errorf("%s: %+v", g.Name(), s)
					}
					some, theirs := all(s.Edges)
					gotTuples, gotWeights = append(gotTuples, some...),
						append(gotWeights, theirs...)
					s.Close()
				}
				if !slices.Equal(gotTuples, tuples) || !slices.Equal(gotWeights, weights) {
					t.Errorf("%s in %d parts, lazily %t: other tuples", g.Name(), ranks, lazily)
				}
			}
		}
	}
	for _, lazily := range []bool{false, true} {
		if _, err := RankInput(t.Context(), Path{1 << 40}, 0, 1<<30, lazily,
			Options{}); err == nil || !strings.Contains(err.Error(), "too many") {
			t.Errorf("lazily %t: error %v", lazily, err)
		}
		if _, err := RankInput(t.Context(), Path{0}, 0, 2, lazily, Options{}); err == nil {
			t.Errorf("lazily %t: a path of no vertices", lazily)
		}
	}
}
