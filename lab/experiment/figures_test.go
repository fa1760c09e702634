package experiment

import (
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/lab/model"
)

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// TestWeakSendsAsGrids: the bytes of the layouts are those of the experiment grids, whose test counts
// them from the tuples.
func TestWeakSendsAsGrids(t *testing.T) {
	alone(t)
	weak, grids := small(t, "weak", 8).Tables[0], small(t, "grids", 8).Tables[0]
	if n := len(weak.rows(howMeasured)); n != 5*len(layouts) {
		t.Errorf("%d measured rows: want 1 to 16 partitions", n)
	}
	for _, p := range []int{4, 8, 16} {
		for _, l := range layouts[:hybrid] { // the last one chooses by time
			x, y := weak.one(t, howMeasured, p, l.name), grids.one(t, p, l.name)
			if x["grid"] != y["grid"] || x["scale"] != y["scale"] || !same(x.float("each"), y.float("each")) {
				t.Errorf("%v in weak, %v in grids", x, y)
			}
			if !same(x.float("rate"), float64(p)*x.float("each")/x.float("seconds")) {
				t.Errorf("another rate: %v", x)
			}
		}
	}
	// On two processes of one node, half of the edges lead to the other: 16 bytes each.
	edges := 0.0
	for _, l := range model.NewSearch(weakScale, 16, 0).Levels {
		edges += l.Edges
	}
	if x := weak.one(t, howModelled, 1, "2d"); x["grid"] != "1x2" || !same(x.float("each"), 8*edges) {
		t.Errorf("%v, want %g bytes", x, 8*edges)
	}
	if x := weak.one(t, howModelled, 512, "2d"); x["grid"] != "32x32" || x["scale"] != 35 {
		t.Errorf("%v: Ueno11 has 32x32", x)
	}
}

// TestAlltoallRates: rates follow from times, and the modelled ones from the network: 2,048 processes
// with 64 MiB, 4 of which share 8 GB/s, and 2 microseconds a message.
func TestAlltoallRates(t *testing.T) {
	alone(t)
	table := small(t, "alltoall", 8).Tables[0]
	for _, p := range []int{2, 4} {
		x := table.one(t, howMeasured, p, 1<<20)
		sent := float64((1 << 20) / p * (p - 1))
		if !same(x.float("rate"), sent/x.float("seconds")) || !same(x.float("all"), float64(p)*x.float("rate")) {
			t.Errorf("%v: %g bytes are sent", x, sent)
		}
	}
	sent := float64(64<<20) * 2047 / 2048
	if x := table.one(t, howModelled, 2048, 64<<20); !same(x.float("seconds"), sent/2e9+2047*2e-6) {
		t.Errorf("%v, want %g s", x, sent/2e9+2047*2e-6)
	}
}

// TestARingTakesItsDelays: each hop takes one delay, or three by rendezvous.
func TestARingTakesItsDelays(t *testing.T) {
	table := small(t, "ring", 8).Tables[0]
	for _, c := range []int{2, 4, 8, 16} {
		for k, how := range []string{"eager", "rendezvous"} {
			x := table.one(t, c, how)
			if want := float64((c-1)*(1+2*k)) * 1e-3; !same(x.float("least"), want) || x.float("seconds_low") < want {
				t.Errorf("%v, want at least %g s", x, want)
			}
		}
	}
}

// TestReduceCrossesOnce: along sites, and along ranks of which the lower half is at one site, one
// message crosses; along ranks that alternate, every odd one sends to an even one.
func TestReduceCrossesOnce(t *testing.T) {
	table := small(t, "reduce", 8).Tables[0]
	for _, c := range []struct {
		place, tree string
		crossings   int
	}{{"halves", "numbers", 1}, {"halves", "sites", 1}, {"by turns", "numbers", 4}, {"by turns", "sites", 1}} {
		rows := table.rows(c.place, "1 Gbit/s, 1ms", c.tree)
		if len(rows) != len(reduceSizes) {
			t.Fatalf("%d rows of %v", len(rows), c)
		}
		for _, x := range rows {
			if x["crossings"] != c.crossings || x.float("seconds_low") < 1e-3 ||
				!same(x.float("bandwidth"), 8*float64(x.int("bytes"))/x.float("seconds")) {
				t.Errorf("%v, want %d crossings", x, c.crossings)
			}
		}
	}
}

// TestMappingByHand: of 2x3x2 places in a row, 6 steps are along the first axis, 4 return on it and
// go along the second, and 1 returns on both. To and fro, all steps are one hop.
func TestMappingByHand(t *testing.T) {
	alone(t)
	r := small(t, "mapping", 9)
	x := r.Tables[0].one(t, howCounted, "C, figure 16", "a2 b3 c2", 12, byNumber)
	if x["most"] != 3 || !same(x.float("mean"), 17.0/11) || x["last"] != 3 {
		t.Errorf("%v", x)
	}
	for _, x := range r.Tables[0].rows(howCounted) {
		if x["mapping"] == reflected && (x["most"] != 1 || x.float("mean") != 1 ||
			x["last"] != 1) {
			t.Errorf("%v: not all neighbours", x)
		}
	}
	all := places([]axis{{"a", 2, false}, {"b", 3, true}, {"c", 2, false}}, reflected)
	slices.SortFunc(all, slices.Compare[[]int])
	if n := len(slices.CompactFunc(all, slices.Equal[[]int])); n != 12 {
		t.Errorf("%d places: want 12", n)
	}
	// In a grid of 2x2 each partition sends to one of its row and one of its column.
	rows := r.Tables[1].one(t, howCounted, "2x2", "rows")
	columns := r.Tables[1].one(t, howCounted, "2x2", "columns")
	mixed := r.Tables[1].one(t, howCounted, "2x2", "mixed")
	if !same(rows.float("share")+columns.float("share"), 1) || mixed.float("share") != 1 {
		t.Errorf("%v, %v, %v", rows, columns, mixed)
	}
	sent := pairBytes{{0, 1}: 5, {1, 2}: 7, {2, 0}: 1}
	if between, all := sent.crossing(func(p int) int { return p / 2 }); between != 8 || all != 13 {
		t.Errorf("%d of %d bytes: want 8 of 13", between, all)
	}
}

// TestProcessesOfANode: clusters of 1, 2 and 4 workers, and predictions on the grids of Nakao20, 5.2.
func TestProcessesOfANode(t *testing.T) {
	alone(t)
	table := small(t, "processes", 8).Tables[0]
	for _, c := range []struct {
		processes, threads int
		grid               string
	}{{1, 2, "1x1"}, {2, 1, "2x1"}, {4, 1, "2x2"}} {
		if x := table.one(t, howMeasured, 1, c.processes, c.threads, c.grid, 8); x.float("seconds") <= 0 ||
			!same(x.float("teps"), 4096/x.float("seconds")) {
			t.Errorf("%v", x)
		}
	}
	table.one(t, howModelled, 16384, 1, 48, "128x128", 38)
	table.one(t, howModelled, 8192, 1, 48, "128x64", 37)
	table.one(t, howModelled, 16384, 4, 12, "256x256", 38)
	sharesAreWhole(t, table)
}

// sharesAreWhole: the shares of a row's time have the sum 1.
func sharesAreWhole(t *testing.T, table *Table) {
	t.Helper()
	for _, x := range table.rows() {
		sum := 0.0
		for _, c := range shareColumns {
			sum += x.float(c.Name)
		}
		if !same(sum, 1) {
			t.Errorf("%v: the shares have the sum %g", x, sum)
		}
	}
}

// TestPhasesOfTheLargestRuns: a ring by rendezvous only adds time to the ring.
func TestPhasesOfTheLargestRuns(t *testing.T) {
	alone(t)
	table := small(t, "phases", 8).Tables[0]
	sharesAreWhole(t, table)
	slow := table.one(t, howModelled, 16384, "128x128", 38, "rendezvous")
	fast := table.one(t, howModelled, 16384, "128x128", 38, "eager")
	table.one(t, howModelled, 92160, "320x288", 40, "eager")
	ring := func(x row) float64 { return x.float("seconds") * x.float("sendrecv") }
	if ring(slow) < ring(fast) || !same(slow.float("seconds")-ring(slow), fast.float("seconds")-ring(fast)) {
		t.Errorf("%v and %v", slow, fast)
	}
}

// TestFasterThreadsGainInCalculation: only the calculation is faster, by 1/1.1; the rest is not.
func TestFasterThreadsGainInCalculation(t *testing.T) {
	alone(t)
	table := small(t, "frequency", 8).Tables[0]
	for _, x := range table.rows() {
		most := 1 / (1 - x.float("calculation")*(1-1/boost))
		if gain := x.float("gain"); gain <= 1 || gain > boost || !same(gain, x.float("boost")/x.float("normal")) || most > boost {
			t.Errorf("%v", x)
		}
	}
}
