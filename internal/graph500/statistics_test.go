package graph500

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12*math.Abs(b) }

func (s Statistics) near(t Statistics) bool {
	return near(s.Min, t.Min) && near(s.FirstQuartile, t.FirstQuartile) &&
		near(s.Median, t.Median) &&
		near(s.ThirdQuartile, t.ThirdQuartile) && near(s.Max, t.Max) && near(s.Mean, t.Mean) &&
		near(s.Stddev, t.Stddev)
}

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		x    []float64
		want Statistics
	}{
		{nil, Statistics{}},
		{[]float64{3}, Statistics{3, 3, 3, 3, 3, 3, 0}},
		{[]float64{5, 1}, Statistics{1, 1, 3, 5, 5, 3, math.Sqrt(8)}},
		{[]float64{9, 1, 2}, Statistics{1, 1, 2, 9, 9, 4, math.Sqrt(19)}},
		// (n-1)/4 is 0 and n/4 is 1: each quartile is between two values.
		{[]float64{8, 2, 1, 4}, Statistics{1, 1.5, 3, 6, 8, 3.75, math.Sqrt(28.75 / 3)}},
		{[]float64{5, 4, 3, 2, 1}, Statistics{1, 2, 3, 4, 5, 3, math.Sqrt(2.5)}},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 80}, Statistics{1, 2.5, 4.5, 6.5, 80, 13.5, math.Sqrt(5082. / 7)}},
	} {
		before := append([]float64(nil), test.x...)
		if got := Describe(test.x); !got.near(test.want) {
			t.Errorf("%v: got %+v, want %+v", test.x, got, test.want)
		}
		for i := range before {
			if test.x[i] != before[i] {
				t.Errorf("%v was changed to %v", before, test.x)
			}
		}
	}
}

func TestDescribeTEPS(t *testing.T) {
	if got := DescribeTEPS(nil, nil); got != (Statistics{}) {
		t.Errorf("no searches: %+v", got)
	}
	if got, want := DescribeTEPS([]float64{2}, []float64{10}),
		(Statistics{5, 5, 5, 5, 5, 5, 0}); !got.near(want) {
		t.Errorf("one search: got %+v, want %+v", got, want)
	}
	// The rates are 1, 2, 4, 8. Their inverses have mean 15/32 and variance 115/768.
	got := DescribeTEPS([]float64{1, .5, 2, .25}, []float64{1, 1, 8, 2})
	want := Statistics{
		Min: 1, FirstQuartile: 1 / .75, Median: 1 / .375, ThirdQuartile: 1 / .1875, Max: 8,
		Mean: 32. / 15, Stddev: math.Sqrt(115./768) / (15. / 32 * 15 / 32 * math.Sqrt(3)),
	}
	if !got.near(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
