package experiment

import (
	"fmt"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
)

// TestGridsSendWhatTheTuplesSay compares the counts of pairs and bits with counts from the list of
// tuples, for every number of partitions.
func TestGridsSendWhatTheTuplesSay(t *testing.T) {
	const scale, value, position = 9, 8, 4
	r := small(t, "grids", scale)
	table := r.Tables[0]
	if len(table.Rows) != 3*len(layouts) {
		t.Fatalf("%d rows: want 4, 8 and 16 partitions", len(table.Rows))
	}
	for log := 2; log <= 4; log++ {
		p := 1 << log
		n, list := tuples(t, fmt.Sprintf("kronecker:scale=%d", scale-4+log))
		list = stored(list)
		rank := ranks(n, list)
		both := append([][2]int{}, list...)
		for _, e := range list {
			both = append(both, [2]int{e[1], e[0]})
		}
		touched := make([]bool, n)
		for _, e := range both {
			touched[e[0]] = true
		}
		roots := generate.Kronecker{Scale: scale - 5 + log, EdgeFactor: 16, Seed1: 2, Seed2: 3}.Roots(2, func(v uint64) bool { return touched[v] })
		pairs1, square := 0, 0
		for _, root := range roots {
			level := levels(n, both, int(root))
			for _, e := range both {
				from, to := rank[e[0]]%p, rank[e[1]]%p
				if level[e[0]] < 0 {
					continue
				}
				if from != to {
					pairs1++
				}
				if g := wide(p); g.Column(from) != g.Column(to) {
					square++
				}
			}
		}
		mean := func(count int) float64 { return float64(count) * (position + value) / float64(len(roots)) }
		if x := table.one(t, p, "simple"); x.float("fold") != mean(pairs1) ||
			x.float("expand") != 0 || x.float("each") != mean(pairs1)/float64(p) {
			t.Errorf("%d partitions, simple: %v, want %v bytes", p, x, mean(pairs1))
		}
		if x := table.one(t, p, "2d"); x.float("fold") != mean(square) || x.float("ring") != 0 {
			t.Errorf("%d partitions, 2d: %v, want %v bytes folded", p, x, mean(square))
		}
		pairs, columns := map[[2]int]bool{}, map[[2]int]int{}
		for _, e := range both {
			from, to := rank[e[0]]%p, rank[e[1]]%p
			if key := [2]int{e[0], to}; from != to && !pairs[key] {
				pairs[key] = true
				columns[[2]int{from, to}]++
			}
		}
		bitmaps := 0.0
		for _, n := range columns {
			bitmaps += float64((n + 63) / 64 * 8)
		}
		for _, name := range []string{"replicated-csr", "replicated-csc"} {
			x := table.one(t, p, name)
			if levels := x.float("frames") / float64(p*(p-1)); x.float("expand") != levels*bitmaps ||
				x.float("fold") != 0 || levels < 2 {
				t.Errorf("%d partitions, %s: %v, want %v bytes in each of %v supersteps", p, name,
					x, bitmaps, levels)
			}
		}
		x := table.one(t, p, "one-sided")
		if n := float64(pairs1) / float64(len(roots)); x.float("frames") != 2*n ||
			x.float("values") != n || x.float("fold") != 16*n {
			t.Errorf("%d partitions, one-sided: %v, want two operations for each of %v edges", p, x, n)
		}
	}
}

// stored removes loops and duplicates of undirected tuples.
func stored(list [][2]int) (kept [][2]int) {
	seen := map[[2]int]bool{}
	for _, e := range list {
		key := [2]int{min(e[0], e[1]), max(e[0], e[1])}
		if e[0] != e[1] && !seen[key] {
			seen[key] = true
			kept = append(kept, e)
		}
	}
	return kept
}

// TestFormulasAreThePapers: Ueno11's one-dimensional formulas equal its two-dimensional ones for
// one row or column.
func TestFormulasAreThePapers(t *testing.T) {
	const n, levels, pulled, edges = 1 << 20, 8.0, 3.0, 3e7
	for _, c := range []struct {
		layout int
		want   float64
	}{
		{simple, 16 * edges / 64 * 63 / 64},                      // pairs to all others
		{oneSidedLayout, 16 * edges / 64 * 63 / 64},              // a parent and a word for each
		{replicatedCSR, levels * n / 8 * 63 / 64},                // bits of the frontiers of all others
		{replicatedCSC, levels * n / 8 * 63 / 64},                // the same
		{twoDim, levels*n/8/8*7/8 + 16*edges/64*7/8},             // 8 x 8
		{hybrid, 8 * (pulled*n*8/64 + pulled*n*8/64 + 2*n) / 64}, // Nakao20, table 5
	} {
		l := layouts[c.layout]
		if got := l.formula(l.grid(64), n, levels, pulled, edges); got < c.want*0.999999 ||
			got > c.want*1.000001 {
			t.Errorf("%s: %g bytes, want %g", l.name, got, c.want)
		}
	}
}
