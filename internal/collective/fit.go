package collective

import (
	"cmp"
	"math"
	"slices"
)

// Sample is one measured message.
type Sample struct {
	Bytes   int     `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Fit returns alpha and beta of T = alpha*n + beta by least squares of the relative error, the
// error Matsumoto15 reports (equation 2): with absolute ones the largest messages would decide
// beta. Outliers, a message that met a busy processor, lose their weight by Tukey's bisquare of
// residuals against their median (Beaton and Tukey 1974). Neither is negative.
func Fit(samples []Sample) (alpha, beta float64) {
	good := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		return s.Bytes < 0 || !(s.Seconds > 0) || math.IsInf(s.Seconds, 0)
	})
	if len(good) == 0 {
		return 0, 0
	}
	alpha, beta = start(good)
	weights := make([]float64, len(good))
	for range 50 {
		reweigh(weights, good, alpha, beta)
		a, b := weighted(good, weights)
		moved := math.Abs(a-alpha) > 1e-9*alpha || math.Abs(b-beta) > 1e-9*beta
		alpha, beta = a, b
		if !moved {
			break
		}
	}
	return alpha, beta
}

// start returns a first line, through the medians of each size: there outliers have little say.
func start(samples []Sample) (alpha, beta float64) {
	bySize := map[int][]float64{}
	for _, s := range samples {
		bySize[s.Bytes] = append(bySize[s.Bytes], s.Seconds)
	}
	var middle []Sample
	var weights []float64
	for n, times := range bySize {
		m := Median(times)
		middle = append(middle, Sample{n, m})
	}
	slices.SortFunc(middle, func(a, b Sample) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for _, s := range middle {
		weights = append(weights, 1/(s.Seconds*s.Seconds))
	}
	return weighted(middle, weights)
}

// reweigh gives each sample the weight of its relative error.
func reweigh(weights []float64, samples []Sample, alpha, beta float64) {
	errs := make([]float64, len(samples))
	for i, s := range samples {
		errs[i] = math.Abs(alpha*float64(s.Bytes)+beta-s.Seconds) / s.Seconds
	}
	// 4.685 deviations keep 95 % of the precision of plain least squares; 1.4826 medians make a
	// deviation.
	scale := max(4.685*1.4826*Median(errs), 1e-6)
	for i, s := range samples {
		u := errs[i] / scale
		weights[i] = 0
		if u < 1 {
			weights[i] = (1 - u*u) * (1 - u*u) / (s.Seconds * s.Seconds)
		}
	}
}

// weighted returns the line of least weighted squares among those with alpha and beta at least 0.
func weighted(samples []Sample, weights []float64) (alpha, beta float64) {
	var w, x, y, xx, xy float64
	for i, s := range samples {
		n := float64(s.Bytes)
		w += weights[i]
		x += weights[i] * n
		y += weights[i] * s.Seconds
		xx += weights[i] * n * n
		xy += weights[i] * n * s.Seconds
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

// Median returns the middle of values, the mean of the middle two if they are even in number, and 0
// of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
