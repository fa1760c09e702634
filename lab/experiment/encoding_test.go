package experiment

import "testing"

// TestEncodingsTakeWhatTheirFormsSay: a bitmap has the same size in every superstep. Auto is at
// most as long as the shorter of bitmap and positions, except for a few bytes at the beginning of
// positions.
func TestEncodingsTakeWhatTheirFormsSay(t *testing.T) {
	alone(t)
	const scale, run = 10, 4
	r := small(t, "encoding", scale)
	table, steps := r.Tables[0], r.Tables[1]
	for _, l := range encodingLayouts {
		auto, bits, positions := table.one(t, l.name, "auto"), table.one(t, l.name, "bitmap"),
			table.one(t, l.name, "sparse")
		// at most one frame to each other partition, and four sub-steps
		frames := 12.0 * float64(len(steps.rows(l.name, "auto"))) * 4
		for _, phase := range []string{"expand", "ring", "fold"} {
			if least := min(bits.float(phase), positions.float(phase)); auto.float(phase) > least+
				frames*run {
				t.Errorf("%s, %s: auto sends %g bytes, %g would do", l.name, phase,
					auto.float(phase), least)
			}
		}
		if auto.float("over_auto") != 1 ||
			bits.float("over_auto") != bits.float("all")/auto.float("all") {
			t.Errorf("%v, %v", auto, bits)
		}
		for _, x := range []row{auto, bits, positions} {
			if sum := x.float("expand") + x.float("ring") + x.float("fold"); sum != x.float("all") {
				t.Errorf("%v: phases add up to %g", x, sum)
			}
		}
		// The senders do not depend on the encoding.
		for i, s := range steps.rows(l.name, "auto") {
			if n := steps.rows(l.name, "sparse")[i].int("senders"); n != s.int("senders") {
				t.Errorf("%s: superstep %d has %d senders, and %d", l.name, i, n, s.int("senders"))
			}
		}
	}
	// In pulls with bitmaps and implied parents, every superstep with messages sends the same
	// number of bytes per search. Searches have different numbers of supersteps, so later
	// supersteps have less.
	last := 0
	for i, s := range steps.rows("4x1 pull", "bitmap") {
		switch n := s.int("bytes"); {
		case i == 0 && n != 0, i == 1 && n == 0, i > 1 && n > last:
			t.Errorf("superstep %d sends %d bytes, the one before %d", i, n, last)
		default:
			last = n
		}
	}
	// A position takes 2 bytes, and a group of positions 4. A column of less than 65,536 vertices
	// has one group.
	for _, l := range encodingLayouts {
		x := table.one(t, l.name, "sparse")
		if over := x.float("expand") - 2*x.float("senders"); over <= 0 ||
			over > run*12*float64(len(steps.rows(l.name, "sparse"))) {
			t.Errorf("%v: %g bytes more than 2 for each sender", x, over)
		}
		if n := table.one(t, l.name, "bitmap").float("senders"); n != x.float("senders") {
			t.Errorf("%s: %g senders by bits, %g by positions", l.name, n, x.float("senders"))
		}
	}
}
