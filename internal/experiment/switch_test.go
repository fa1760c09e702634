package experiment

import "testing"

// TestFixedChoicesAreFixed, levels are those of graphs whose levels are known, and ratios are of what is in the table.
func TestFixedChoicesAreFixed(t *testing.T) {
	const scale, side = 10, 32
	r := small(t, "switch", scale)
	table := r.Tables[0]
	want := map[string]int{
		// From a corner and from the middle of a side, and superstep 0.
		"grid": 1 + 2*(side-1) + 1 + side/2 + side - 1,
		// From the hub, and from seven leaves.
		"star": 2 + 7*3,
	}
	for _, graph := range []string{"kronecker", "uniform", "grid", "star"} {
		for _, choice := range directions {
			x := table.one(t, graph, choice.String())
			if n := want[graph]; n != 0 && x.int("supersteps") != n {
				t.Errorf("%s, %v: %d supersteps, want %d", graph, choice, x.int("supersteps"), n)
			}
			if x.float("seconds") <= 0 || x.float("teps") <= 0 || x.float("seconds_low") > x.float("seconds") || x.float("seconds_high") < x.float("seconds") {
				t.Errorf("%v", x)
			}
		}
		push, pull := table.one(t, graph, "push"), table.one(t, graph, "pull")
		if push.int("pulled") != 0 || pull.int("pushed") != 0 || push.int("pushed") == 0 || push.int("pushed") != pull.int("pulled") {
			t.Errorf("%s: push %v, pull %v", graph, push, pull)
		}
		if push.float("over_best") != 1 && pull.float("over_best") != 1 {
			t.Errorf("%s: neither push nor pull is the better one", graph)
		}
	}
}
