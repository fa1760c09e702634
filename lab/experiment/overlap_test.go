package experiment

import (
	"testing"
)

// TestNothingIsFasterThanItsDelay: with overlap, the columns of an exchange cross a link at the
// same time, so a superstep takes at least its delay. One after the other, they take the delay as
// often as there are other partitions. The traffic is the same over all cables, and with and
// without overlap, except for the parts of a ring.
func TestNothingIsFasterThanItsDelay(t *testing.T) {
	alone(t)
	table := small(t, "overlap", LeastScale).Tables[0]
	if len(table.Rows) != 2*len(cables)*len(overlapLayouts) {
		t.Fatalf("%d rows", len(table.Rows))
	}
	for _, l := range overlapLayouts {
		for _, c := range cables {
			memory, on, off := table.one(t, l.name, cables[0].name, "on"),
				table.one(t, l.name, c.name, "on"), table.one(t, l.name, c.name, "off")
			if on.float("frames") != memory.float("frames") {
				t.Errorf("%s: %g frames over %s, %g over %s", l.name, on.float("frames"), c.name,
					memory.float("frames"), cables[0].name)
			}
			if same := on.float("frames") == off.float("frames"); same == (l.name == "2x4 ring") ||
				on.float("frames") < off.float("frames") {
				t.Errorf("%s, %s: %g frames with overlap, %g without", l.name, c.name,
					on.float("frames"), off.float("frames"))
			}
			if on.float("gain") <= 0 || off.float("gain") != 1 {
				t.Errorf("%v, %v", on, off)
			}
		}
	}
	// one exchange per superstep; each of 8 partitions sends to 7
	for _, name := range []string{"8x1 pull", "1x8 naive"} {
		for _, c := range cables {
			for word, times := range map[string]float64{"on": 1, "off": 7} {
				x := table.one(t, name, c.name, word)
				if least := x.float("frames") / 56 * times * c.delay.Seconds(); x.float("seconds_low") < least {
					t.Errorf("%v: it must take %g s", x, least)
				}
			}
		}
	}
}
