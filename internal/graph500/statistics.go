package graph500

import (
	"math"
	"slices"
)

// Statistics are the statistics of many searches that the specification requires.
type Statistics struct {
	Min, FirstQuartile, Median, ThirdQuartile, Max, Mean, Stddev float64
}

// Describe returns the statistics of x. Quartiles are interpolated between the two nearest sorted
// values. Stddev is that of a sample. It returns zeros for an empty x, and no deviation for one
// value.
func Describe(x []float64) (s Statistics) {
	n := len(x)
	if n == 0 {
		return s
	}
	for _, v := range x {
		s.Mean += v
	}
	s.Mean /= float64(n)
	if n > 1 {
		for _, v := range x {
			s.Stddev += (v - s.Mean) * (v - s.Mean)
		}
		s.Stddev = math.Sqrt(s.Stddev / float64(n-1))
	}
	x = slices.Sorted(slices.Values(x))
	s.Min, s.Max = x[0], x[n-1]
	s.FirstQuartile = (x[(n-1)/4] + x[n/4]) / 2
	s.Median = (x[(n-1)/2] + x[n/2]) / 2
	s.ThirdQuartile = (x[n-1-(n-1)/4] + x[n-1-n/4]) / 2
	return s
}

// DescribeTEPS returns the statistics of the rates nedge[i]/time[i], in edges per second. Mean is
// the harmonic mean, because TEPS is a rate, and Stddev is its standard error by Norris (The
// Standard Errors of the Geometric and Harmonic Means and Their Application to Index Numbers,
// 1940). All are computed from the times per edge, whose quartiles are the inverse of those of the
// rates.
func DescribeTEPS(time, nedge []float64) Statistics {
	n := len(time)
	if n == 0 {
		return Statistics{}
	}
	perEdge := make([]float64, n)
	for i := range perEdge {
		perEdge[i] = time[i] / nedge[i]
	}
	s := Describe(perEdge)
	t := Statistics{
		Min: 1 / s.Max, FirstQuartile: 1 / s.ThirdQuartile, Median: 1 / s.Median,
		ThirdQuartile: 1 / s.FirstQuartile, Max: 1 / s.Min, Mean: 1 / s.Mean,
	}
	if n > 1 {
		t.Stddev = s.Stddev / (s.Mean * s.Mean * math.Sqrt(float64(n-1)))
	}
	return t
}
