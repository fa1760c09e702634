package model

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/record"
)

// TestTheBusiestByHand: of partitions with 2, 4, 6 and 8 edges the busiest has 3/5 more than the
// mean. The largest superstep counts.
func TestTheBusiestByHand(t *testing.T) {
	var x excesses
	for _, walked := range [][]int{{1, 2, 3, 2}, {2, 4, 6, 8}, {4, 4, 4, 4}, {0, 0, 0, 0}} {
		r := &record.Superstep{}
		for _, n := range walked {
			r.Partitions = append(r.Partitions, record.Partition{Walked: n})
		}
		if err := x.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if x.mean != 5 || math.Abs(x.excess-0.6) > 1e-9 {
		t.Errorf("found %+v, want 5 and 3/5", x)
	}
}

// TestSkewByHand: vertices with 8, 4, 2, 2, 1, 1, 1, 1 edges are dealt to a grid of 2x2. Column 0
// has the first two of each four, 8+4+1+1 = 14 of 20 edges, and row 0 the first of each two, 8+2+1+1
// = 12. So the busiest process expects 14/10 * 12/10 of the mean.
func TestSkewByHand(t *testing.T) {
	s := &Search{Connected: 8, Edges: 20, Levels: []Level{{classes: []classShare{
		{vertices: 1, edges: 8}, {vertices: 1, edges: 4}, {vertices: 2, edges: 2}, {vertices: 4, edges: 1},
	}}}}
	if got, want := s.Skew(Grid{2, 2}), 1.4*1.2-1; math.Abs(got-want) > 1e-9 {
		t.Errorf("found %g, want %g", got, want)
	}
	if got := s.Skew(Grid{1, 1}); math.Abs(got) > 1e-9 {
		t.Errorf("one process has %g more than itself", got)
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

// TestSkewIsAsMeasured: the busiest process of several grids has the expected edges. In a pull the
// difference is at most a fifth of what it has beyond the mean. In a push it may have less, because
// row and column of a hub are not independent.
func TestSkewIsAsMeasured(t *testing.T) {
	for _, c := range []struct {
		scale int
		grid  Grid
	}{{12, Grid{4, 4}}, {14, Grid{8, 8}}, {14, Grid{4, 8}}, {14, Grid{16, 16}}} {
		want := NewSearch(c.scale, 16, 0).Skew(c.grid)
		for scheme, least := range map[Scheme]float64{Push: 0.5, Pull: 0.8} {
			got, err := busiest(t.Context(), c.scale, c.grid, scheme)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("SCALE %d, %v, %v: the busiest has %.3f more than the mean, expected %.3f", c.scale, c.grid, scheme, got, want)
			if got < want*least || got > want*1.2 {
				t.Errorf("SCALE %d, %v, %v: the busiest has %.3f more than the mean, expected %.3f",
					c.scale, c.grid, scheme, got, want)
			}
		}
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
