package model

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/record"
)

// TestDeviationByHand: of partitions with 2, 4, 6 and 8 edges the mean is 5 and the variance 5. The
// largest superstep counts.
func TestDeviationByHand(t *testing.T) {
	var d deviations
	for _, walked := range [][]int{{1, 2, 3, 2}, {2, 4, 6, 8}, {4, 4, 4, 4}, {0, 0, 0, 0}} {
		r := &record.Superstep{}
		for _, n := range walked {
			r.Partitions = append(r.Partitions, record.Partition{Walked: n})
		}
		if err := d.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if want := (deviation{4, 5, math.Sqrt(5) / 5}); d.deviation != want {
		t.Errorf("found %+v, want %+v", d.deviation, want)
	}
}

// TestSkewGoesThroughItsPoints: four times the processes have twice the deviation, 16 times the
// edges half of it.
func TestSkewGoesThroughItsPoints(t *testing.T) {
	s := skewOf(deviation{64, 100, 0.1}, deviation{256, 100, 0.2}, deviation{64, 1600, 0.05})
	if math.Abs(s.Processes-0.5) > 1e-9 || math.Abs(s.Edges+0.25) > 1e-9 {
		t.Errorf("%+v", s)
	}
	// e^8 processes: the busiest is 4 deviations above the mean.
	want := 4 * 0.1 * math.Sqrt(math.Exp(8)/64) / 2
	if got := s.excess(1600, math.Exp(8)); math.Abs(got-want) > 1e-9 {
		t.Errorf("the busiest has %g more, want %g", got, want)
	}
	if s.excess(400, 1) != 0 || (Skew{}).excess(400, 9) != 0 {
		t.Error("one process waits, or processes without skew")
	}
}

// TestContentionIsScaled: 48 threads, of which each loses a tenth beside another, are 48/5.7.
func TestContentionIsScaled(t *testing.T) {
	w := Waiting{Contention: 0.1}
	if got := w.threads(48, 1); math.Abs(got-48/5.7) > 1e-9 {
		t.Errorf("48 threads are %g", got)
	}
	if got := w.threads(12, 4); math.Abs(got-12/5.7) > 1e-9 {
		t.Errorf("12 threads of each of 4 processes are %g", got)
	}
	if (Waiting{}).threads(7, 2) != 7 {
		t.Error("threads without contention are fewer")
	}
}

// TestTheSkewPredictsMoreProcesses: the law from small grids is within a third of the deviation on
// a larger one.
func TestTheSkewPredictsMoreProcesses(t *testing.T) {
	s, err := measureSkew(t.Context(), 11, 4)
	if err != nil {
		t.Fatal(err)
	}
	d, err := deviationOf(t.Context(), 15, Grid{16, 16}, skewSearches)
	if err != nil {
		t.Fatal(err)
	}
	law := s.excess(d.edges, d.processes) / math.Sqrt(2*math.Log(d.processes))
	t.Logf("%+v: %.3f, measured %.3f", s, law, d.relative)
	if law < d.relative*2/3 || law > d.relative*3/2 {
		t.Errorf("%+v: a deviation of %.3f is expected, and measured is %.3f", s, law, d.relative)
	}
}

// TestThePapersCodesByHand: a level with 6 edges from 3 vertices of a graph of 2^7, in a grid of 2x3
// and in one column. In the grid each process gets the bits of one other, 128/6 on average, and two
// of three edges are pairs for others. In the column each gets 5/6 of all bits.
func TestThePapersCodesByHand(t *testing.T) {
	l := &Level{Vertices: 3, Edges: 6, Likely: 1}
	if got, want := l.Traffic(7, Grid{2, 3}, Pairs), (Traffic{
		Expand: Volume{6, 0, 16}, Fold: Volume{12, 4, 64},
	}); got != want {
		t.Errorf("pairs: %+v, want %+v", got, want)
	}
	for _, scheme := range []Scheme{CSR, CSC} {
		if got, want := l.Traffic(7, Grid{2, 3}, scheme), (Traffic{Expand: Volume{30, 0, 80}}); got != want {
			t.Errorf("%v: %+v, want %+v", scheme, got, want)
		}
	}
	if got, want := l.Traffic(7, Grid{1, 6}, Pairs), (Traffic{Fold: Volume{30, 5, 80}}); got != want {
		t.Errorf("simple: %+v, want %+v", got, want)
	}
}
