package verify

import "testing"

// TestSolution checks solutions of 4x - 2y = 6, -2x + 4y = 0.
func TestSolution(t *testing.T) {
	g := graph(t, 2, false, [][2]uint64{{0, 0}, {1, 1}, {1, 0}}, []float64{4, 4, -2})
	b := []float64{6, 0}
	for _, test := range []struct {
		b, x      []float64
		tolerance float64
		rule      string
	}{
		{b, []float64{2, 1}, 1e-14, ""},
		{nil, []float64{0.5, 0.5}, 1e-14, ""},
		{b, []float64{2, 1 + 1e-6}, 1e-14, "residual"},
		{b, []float64{2, 1 + 1e-6}, 1e-5, ""},
		{b, []float64{0, 0}, 0.99, "residual"},
		{b, []float64{0, 0}, 1, ""},
		{[]float64{0, 0}, []float64{0, 0}, 0, ""},
		{nil, []float64{2, 1}, 1e-3, "residual"},
		{[]float64{6e-200, 0}, []float64{2e-200, 1e-200}, 1e-14, ""},
		{[]float64{6e-200, 0}, []float64{2e-200, 2e-200}, 1e-14, "residual"},
		{[]float64{6e200, 0}, []float64{2e200, 1e200}, 1e-14, ""},
		{[]float64{6e200, 0}, []float64{2e200, 2e200}, 1e-14, "residual"},
		{b, []float64{1e308, 0}, 1e-14, "residual"},
		{b, []float64{1e300, 0}, 1e-14, "residual"},
	} {
		_, err := Solution(g, test.b, test.x, test.tolerance)
		wantRule(t, err, test.rule)
	}
	if r, err := Solution(g, b, []float64{0, 0}, 1); r != 1 || err != nil {
		t.Errorf("the residual of 0 is %g, %v", r, err)
	}
	if _, err := Solution(g, b, []float64{0}, 1); err == nil {
		t.Error("one entry for two rows")
	}
}
