package collective

import (
	"math"
	"slices"
)

// Sample is the median time of messages of one size.
type Sample struct {
	Bytes   int     `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Fit returns alpha and beta, at least 0, of T = alpha*n + beta by least squares of the relative
// error (Matsumoto15, equation 2). With absolute errors the largest messages alone would determine
// beta.
func Fit(samples []Sample) (alpha, beta float64) {
	var w, x, y, xx, xy float64
	for _, s := range samples {
		n, median := float64(s.Bytes), s.Seconds
		if n < 0 || !(median > 0) || math.IsInf(median, 0) {
			continue
		}
		weight := 1 / (median * median)
		w += weight
		x += weight * n
		y += weight * median
		xx += weight * n * n
		xy += weight * n * median
	}
	if w == 0 {
		return 0, 0
	}
	d := w*xx - x*x
	if d <= 1e-12*w*xx { // one size only
		return 0, y / w
	}
	alpha, beta = (w*xy-x*y)/d, (y*xx-x*xy)/d
	switch {
	case alpha < 0:
		return 0, y / w
	case beta < 0:
		return xy / xx, 0
	}
	return alpha, beta
}

// Median returns the median of values: the mean of the middle two if their number is even, and 0 if
// there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
