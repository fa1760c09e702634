package experiment

import (
	"fmt"
	"testing"
)

// TestStartsAreCountedRight compares rows, neighbours and bytes with numbers from the list of
// tuples.
func TestStartsAreCountedRight(t *testing.T) {
	alone(t)
	const scale = 12
	r := small(t, "bcsr", scale)
	n, list := tuples(t, fmt.Sprintf("kronecker:scale=%d", scale))
	list = stored(list)
	rank := ranks(n, list)
	for _, side := range []int{1, 2, 4} {
		p := side * side
		rows := map[[2]int]bool{} // (receiver, column of the sender): one list of the block
		for _, e := range list {
			for _, arc := range [][2]int{{e[0], e[1]}, {e[1], e[0]}} {
				rows[[2]int{arc[1], rank[arc[0]] % p / side}] = true
			}
		}
		for _, way := range []string{"pass", "lookup"} {
			var x row
			for _, found := range r.Tables[0].rows(fmt.Sprintf("%dx%d", side, side)) {
				if found["way"] == way {
					x = found
				}
			}
			vertices, mean := float64(n/side), float64(len(rows))/float64(p)
			if x.float("vertices") != vertices || !nearly(x.float("rows"), mean) ||
				!nearly(x.float("neighbours"), float64(2*len(list))/float64(p)) {
				t.Errorf("%dx%d: %v, want %g vertices and %g rows", side, side, x, vertices, mean)
			}
			if x.float("csr") != 4*(vertices+1) ||
				!nearly(x.float("bcsr"), vertices/8+4*(vertices/64+1)+4*(mean+1)) {
				t.Errorf("%dx%d: %v", side, side, x)
			}
		}
	}
}

func nearly(a, b float64) bool { return a > b*0.999999 && a < b*1.000001 }
