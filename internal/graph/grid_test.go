package graph

import (
	"strings"
	"testing"
)

func TestGridPlacesArcs(t *testing.T) {
	g := Grid{2, 3}
	// Partition 3 is in row 1 and column 1, partition 4 in row 0 and column 2.
	for _, c := range []struct{ u, v, want int }{{3, 4, 2}, {4, 3, 5}, {3, 3, 3}, {4, 4, 4}, {0, 1, 1}, {1, 0, 0}, {0, 0, 0}} {
		if got := g.Arc(c.u, c.v); got != c.want {
			t.Errorf("arcs from %d to %d are in partition %d, want %d", c.u, c.v, got, c.want)
		}
	}
	for u := range 7 {
		for v := range 7 {
			if (Grid{7, 1}).Arc(u, v) != v || (Grid{1, 7}).Arc(u, v) != u {
				t.Fatalf("arc %d->%d in flat grids", u, v)
			}
		}
	}
	for p := range g.Partitions() {
		if g.At(g.Row(p), g.Column(p)) != p || len(g.row(p)) != 2 || len(g.column(p)) != 1 {
			t.Errorf("partition %d", p)
		}
		for _, q := range g.row(p) {
			if q == p || g.Row(q) != g.Row(p) {
				t.Errorf("partition %d is not in the row of %d", q, p)
			}
		}
	}
}

func TestSquarestGrid(t *testing.T) {
	for n, want := range map[int]string{1: "1x1", 2: "2x1", 4: "2x2", 6: "3x2", 7: "7x1", 8: "4x2", 12: "4x3", 16: "4x4", 36: "6x6"} {
		if got := Squarest(n); got.String() != want || got.Partitions() != n {
			t.Errorf("%d partitions: %v, want %s", n, got, want)
		}
	}
	for _, s := range []string{"", "4", "x", "0x1", "2x-1", "axb", "2x3x4", "9999999x1"} {
		if g, err := ParseGrid(s); err == nil {
			t.Errorf("%q is %v", s, g)
		}
	}
	if g, err := ParseGrid("3X2"); err != nil || g != (Grid{3, 2}) {
		t.Error(g, err)
	}
}

// TestLargestGrid: MaxPartitions partitions are accepted. More are rejected, even if their number
// overflows an int.
func TestLargestGrid(t *testing.T) {
	for _, o := range []Options{{Grid: Grid{64, 64}}, {Partitions: MaxPartitions}, {Grid: Grid{1, MaxPartitions}}} {
		if err := o.Place(); err != nil || o.Partitions != MaxPartitions {
			t.Errorf("%v: %d partitions, error %v", o.Grid, o.Partitions, err)
		}
	}
	for _, o := range []Options{{Grid: Grid{64, 65}}, {Partitions: MaxPartitions + 1}, {Grid: Grid{1 << 32, 1 << 32}}, {Grid: Grid{1 << 62, 4}}} {
		if err := o.Place(); err == nil ||
			!strings.Contains(err.Error(), "at most 4096 partitions") {
			t.Errorf("%v: error %v", o.Grid, err)
		}
	}
}
