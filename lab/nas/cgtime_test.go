package nas

import (
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/record"
)

// TestPartsOfAnIteration computes the parts of an iteration by hand.
func TestPartsOfAnIteration(t *testing.T) {
	c := Costs{Call: 1, Axpy: 2, Dot: 3, Send: 4, Entry: 5}
	d := node{Pair: collective.Pair{Alpha: 1, Beta: 100, Gap: 10}, barrier: 7}
	for _, x := range []struct {
		grid graph.Grid
		want CGParts
	}{
		// 8 rows of 16 entries; in each superstep a call, two AXPYs and a dot product of 8
		{graph.Of(1), CGParts{8*4 + 16*5, 8 * 2 * 8, 0, 14}},
		// a message of 4 values
		{graph.Of(2), CGParts{56, 64, 100 + 32, 14}},
		// 3 messages of 2 values
		{graph.Of(4), CGParts{28, 32, 2*(10+16) + 100 + 16, 14}},
		// a message of 2 values, and one of 2 sums with positions, which take as long as sent values
		{graph.Grid{Rows: 2, Columns: 2}, CGParts{28 + 8, 32, 100 + 16 + 100 + 24, 14}},
	} {
		if got := c.iteration(8, 16, x.grid, d); got != x.want {
			t.Errorf("%v: found %v, expected %v", x.grid, got, x.want)
		}
	}
}

func TestCrossing(t *testing.T) {
	line := func(fixed, each float64) func(float64) float64 {
		return func(n float64) float64 { return fixed + each*n }
	}
	for _, x := range []struct {
		first, second func(float64) float64
		small, large  int
		rows          float64 // 0: always the same
	}{
		{line(1, 2), line(1001, 1), 0, 1, 1000},
		{line(1001, 1), line(1, 2), 1, 0, 1000},
		{line(1, 1), line(2, 2), 0, 0, 0},
		{line(2, 2), line(1, 1), 1, 1, 0},
	} {
		small, large, rows := crossing(x.first, x.second)
		found, _ := strconv.ParseFloat(rows, 64) // 0 for "all"
		if small != x.small || large != x.large || math.Abs(found-x.rows) > .01*x.rows {
			t.Errorf("found %d, %d and %s, expected %v", small, large, rows, x)
		}
	}
}

// TestIterationTime: an iteration is a superstep that multiplies and the next one, except the first
// and the last of 25, and the first solution.
func TestIterationTime(t *testing.T) {
	seconds := make([]float64, 3*period)
	for k := range seconds {
		switch step := k % period; {
		case k < period || step < 3 || step >= lastUpdate-1:
			seconds[k] = 1000
		case step%2 == 1:
			seconds[k] = 3
		default:
			seconds[k] = 2
		}
	}
	seconds[2*period+5] = math.NaN()
	if got := iterationTime(seconds); got != 5 {
		t.Errorf("found %v, expected 5", got)
	}
	if got := steady([]float64{1, 3, 2, math.NaN(), 3, 2, 2, 2, 2, 2, 2, 1.5, 3}); got != 2 {
		t.Errorf("found %v, expected 2", got)
	}
}

// TestCommunication: a barrier is the mean of what is not work in supersteps without messages, and
// messages are on the line through those of other lengths. If workers share processors, the work is
// that of one worker, divided among the processors.
func TestCommunication(t *testing.T) {
	step := func(seconds, work float64) stepParts { return stepParts{Seconds: seconds, Work: work} }
	b := &timer{CGTime: &CGTime{CPUs: 2}}
	b.alone = [len(lengths)]stepTimes{{step(41, 40), step(21, 20)}, {step(161, 160), step(81, 80)}}
	// with vectors of half the length a barrier takes 6 and messages 15, with twice the length 10 and 30
	found := [len(lengths)]stepTimes{
		{step(20+6+15, 20), step(10+6, 10)}, {step(80+10+30, 80), step(40+10, 40)},
	}
	for _, p := range []int{2, 4} {
		if messages, barriers := b.communication(p, found); messages != 20 || barriers != 16 {
			t.Errorf("%d workers: found %v and %v, expected 20 and 16", p, messages, barriers)
		}
	}
	if messages, barriers := b.communication(1, b.alone); messages != 0 || barriers != 2 {
		t.Errorf("one worker: found %v and %v, expected 0 and 2", messages, barriers)
	}
}

// TestBand: each row of a band has its ones, and rows dealt to partitions need all others.
func TestBand(t *testing.T) {
	m, x, product := band(5, 2), []float64{1, 2, 3, 4, 5}, make([]float64, 5)
	m.Multiply(0, product, x)
	if want := []float64{3, 5, 7, 9, 6}; !slices.Equal(product, want) {
		t.Errorf("found %v, expected %v", product, want)
	}
}

// TestPartsOfSteps: the fastest fifth of the chosen supersteps counts, and in each the slowest
// partition.
func TestPartsOfSteps(t *testing.T) {
	var trace []record.Superstep
	for k := range 20 {
		s := record.Superstep{Superstep: k, Seconds: float64(100 + k), Partitions: make([]record.Partition, 2)}
		s.Partitions[0].Times = record.Seconds{Traverse: 10, Compute: 5, Expand: 4}
		s.Partitions[1].Times = record.Seconds{Traverse: 30, Fold: 8}
		trace = append(trace, s)
	}
	got := partsOfSteps(trace, func(k int) bool { return k >= 10 }) // 10 and 11
	if want := (stepParts{110.5, 30, 6}); got != want || got.waiting() != 74.5 {
		t.Errorf("found %v, expected %v", got, want)
	}
	if ofIteration(period+2) || !ofIteration(period+3) || !ofIteration(period+lastUpdate-2) ||
		ofIteration(period+lastUpdate-1) || ofIteration(5) {
		t.Error("other supersteps count than those of iterationTime")
	}
}

func TestTimeCG(t *testing.T) {
	class := classS(t)
	class.CG.Iterations, class.CG.Zeta = 2, zetaAfter(t, class.CG, 2)
	var all []*exec.Cmd
	found, err := TimeCG(t.Context(), class, cluster.Cluster{Command: launched("worker", &all)},
		[]int{1, 2}, 1, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	// one for the costs, one and one for one worker, and two and two for two
	haveEnded(t, 5+min(2, runtime.NumCPU()), all)
	if !found.Verified || len(found.Table.Rows) != 2 || found.Costs.Entry <= 0 ||
		found.Costs.Call <= 0 {
		t.Errorf("%+v", found)
	}
	for i, row := range found.Table.Rows {
		messages, measured := row[3].(float64), row[6].(float64)
		if measured <= 0 || (messages > 0) != (i == 1) {
			t.Errorf("%v", row)
		}
	}
	var text strings.Builder
	if err := found.Text(&text); err != nil || !strings.Contains(text.String(), "MPI/InfiniBand") {
		t.Errorf("%s %v", &text, err)
	}
}
