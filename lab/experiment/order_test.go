package experiment

import "testing"

// TestOrderLeavesWhatItMust: with hubs first, a pull finds a sender sooner, so it looks at fewer
// edges.
func TestOrderLeavesWhatItMust(t *testing.T) {
	alone(t)
	r := small(t, "order", 12)
	table := r.Tables[0]
	if len(table.Rows) != orderScales*2*len(orderChoices) {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for _, scale := range []int{8, 10, 12} {
		degree, input := table.one(t, scale, "degree", "pull"), table.one(t, scale, "input", "pull")
		if degree.float("edges") >= input.float("edges") || degree.float("edges") <= 0 {
			t.Errorf("SCALE %d: a pull looks at %g edges in degree order, and %g in the input's",
				scale, degree.float("edges"), input.float("edges"))
		}
		if x := table.one(t, scale, "input", "auto"); x.float("gain") != 1 {
			t.Errorf("%v", x)
		}
	}
}
