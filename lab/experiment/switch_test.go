package experiment

import (
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
)

// TestFixedChoicesAreFixed: fixed choices use one direction, the numbers of levels are those of
// known graphs, and ratios match the table.
func TestFixedChoicesAreFixed(t *testing.T) {
	alone(t)
	const scale, side = 10, 32
	r := small(t, "switch", scale)
	table := r.Tables[0]
	want := map[string]int{
		// From a corner and from the middle of a side, and superstep 0.
		"lattice": 1 + 2*(side-1) + 1 + side/2 + side - 1,
		// From the hub, and from seven leaves.
		"star": 2 + 7*3,
	}
	for _, graph := range []string{"kronecker", "uniform", "lattice", "star"} {
		for _, a := range arenas {
			best := 0
			for i, choice := range a.choices {
				x := table.one(t, graph, a.grid.String(), choice.String())
				if n := want[graph]; n != 0 && x.int("supersteps") != n {
					t.Errorf("%s, %v: %d supersteps, want %d", graph, choice, x.int("supersteps"),
						n)
				}
				if x.float("seconds") <= 0 || x.float("teps") <= 0 ||
					x.float("seconds_low") > x.float("seconds") ||
					x.float("seconds_high") < x.float("seconds") {
					t.Errorf("%v", x)
				}
				push := table.one(t, graph, a.grid.String(), "push")
				switch fixed := i >= len(a.choices)-a.fixed; {
				case fixed && choice == delivery.ChoosePush &&
					(x.int("pulled") != 0 || x.int("pushed") == 0),
					fixed && choice != delivery.ChoosePush &&
						(x.int("pushed") != 0 || x.int("pulled") != push.int("pushed")):
					t.Errorf("%s, %s, %v: %v", graph, a.name, choice, x)
				case fixed && x.float("over_best") == 1:
					best++
				}
			}
			if best == 0 {
				t.Errorf("%s, %s: no fixed choice is the best", graph, a.name)
			}
		}
	}
}
