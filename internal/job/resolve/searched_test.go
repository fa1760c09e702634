package resolve

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// TestSearched uses only the numbers that a worker reports for every search.
func TestSearched(t *testing.T) {
	for _, c := range []struct {
		result *control.KernelResult
		want   int
	}{
		{nil, 0},
		{&control.KernelResult{Time: []float64{1}}, 0},
		{&control.KernelResult{Time: []float64{1, 2}, Translate: []float64{0, 0}, Nedge: []uint64{3}}, 1},
		{&control.KernelResult{Time: []float64{1, math.NaN()}, Translate: []float64{0, 0}, Nedge: []uint64{3, 3}}, 1},
		{&control.KernelResult{Time: []float64{0}, Translate: []float64{0}, Nedge: []uint64{3}}, 0},
		{&control.KernelResult{Time: []float64{1}, Translate: []float64{0}, Nedge: []uint64{0}}, 0},
		{&control.KernelResult{Time: []float64{1}, Translate: []float64{0}, Nedge: []uint64{1 << 63}}, 0},
	} {
		k := Searched(c.result)
		if len(k.Time) != c.want || len(k.Translate) != c.want || len(k.Nedge) != c.want ||
			len(k.Validate) > c.want {
			t.Errorf("of %v: %+v, expected %d searches", c.result, k, c.want)
		}
	}
}
