package nas

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestPredictionIsTheTimeOfAnIteration on a simulated network with exactly the model's costs, in
// virtual time. Ranks may begin a collective before others have finished the previous one, so the
// sum of the collectives is an upper bound.
func TestPredictionIsTheTimeOfAnIteration(t *testing.T) {
	slow := collective.Pair{Alpha: 1e-6, Beta: 1e-3, Gap: 2e-4}
	size := CGSize{Rows: 1400}
	empty := &Matrix{Starts: make([]int, size.Rows+1)}
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 2, Columns: 1}, {Rows: 4, Columns: 1}, {Rows: 2, Columns: 2}, {Rows: 1, Columns: 4}, {Rows: 4, Columns: 2}, {Rows: 5, Columns: 1}} {
		for name, by := range map[string]forced{"chosen": nil, "paper's": paperAlgorithms} {
			synctest.Test(t, func(t *testing.T) {
				model := collective.Uniform(grid.Partitions(), slow)
				want, how, err := size.communication(model, grid, by)
				if err != nil {
					t.Fatal(err)
				}
				links := memlink.New(grid.Partitions(), func(int, int) memlink.Cost { return memlink.Cost{Alpha: slow.Alpha, Beta: slow.Beta, Gap: slow.Gap} })
				var all sync.WaitGroup
				begin := time.Now()
				for rank := range grid.Partitions() {
					all.Go(func() {
						s, err := NewSolver(size, empty, grid, links.Link(rank), model, by)
						if err == nil {
							err = s.communicate(t.Context())
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if took := time.Since(begin).Seconds(); took > 1.02*want || took < 0.9*want {
					t.Errorf("%v, %s (%s): it takes %v s, predicted %v", grid, name, how, took,
						want)
				}
			})
		}
	}
}

// TestTheModelMatchesTheFormula of Matsumoto15, for equal pairs and a sender that is busy during a
// message: an allgather by doubling or Bruck takes log2(P) beta + (P-1) alpha n, and three
// allreduces of 8 bytes by dissemination take log2(P) beta + (P-1) alpha 8 each.
func TestTheModelMatchesTheFormula(t *testing.T) {
	c := collective.Pair{Alpha: 1e-6, Beta: 1e-3, Gap: 1e-3}
	size := CGSize{Rows: 1024}
	for _, p := range []float64{2, 4, 8, 16} {
		got, _, err := size.communication(collective.Uniform(int(p), c), graph.Of(int(p)),
			paperAlgorithms)
		want := 4*math.Log2(p)*c.Beta + (p-1)*c.Alpha*(8*1024/p+3*8)
		if err != nil || math.Abs(got-want) > 1e-3*want {
			t.Errorf("%v ranks: %v s, expected %v, %v", p, got, want, err)
		}
	}
}

// TestPredictCG: fitted and predicted times are at least three quarters of the delay, because a fit of
// times that other work lengthens may begin below it.
func TestPredictCG(t *testing.T) {
	const delay = 2e-3
	class := classS(t)
	class.CG.Iterations, class.CG.Zeta = 1, zetaAfter(t, class.CG, 1)
	m, err := PredictCG(t.Context(), class, Place{Delay: 2 * time.Millisecond}, []int{1, 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Verified || len(m.Findings) != 3 || len(m.Pairs) != 2 || m.Pairs[1].Beta < .75*delay ||
		len(m.Beyond.Rows) != 0 {
		t.Errorf("%+v", m)
	}
	parts := map[string]int{}
	for _, row := range m.Table.Rows {
		part, predicted, measured := row[1].(string), row[4].(float64), row[5].(float64)
		if parts[fmt.Sprint(row[0], " ", part)]++; row[0] == 1 &&
			(predicted != 0 || row[6] != "-") {
			t.Errorf("%v: one rank sends nothing", row)
		}
		// Each collective between the two sites takes at least the delay.
		if row[0] == 2 &&
			(predicted < .75*delay || measured < delay || !strings.HasSuffix(row[6].(string), " %")) {
			t.Errorf("%v", row)
		}
	}
	want := map[string]int{"1 iteration": 1, "1 in CG": 1, "2 iteration": 2, "2 in CG": 1, "2 grid": 1, "2 allgather": 3, "2 allreduce": 4}
	if fmt.Sprint(parts) != fmt.Sprint(want) {
		t.Errorf("parts %v, expected %v", parts, want)
	}
}

// TestWinners tests the description of winners for given times.
func TestWinners(t *testing.T) {
	of := func(doubling, ring float64) predicted {
		return predicted{Parts: []prediction{{partAllgather, "bruck", 8, doubling, 2 * doubling}, {partAllgather, "ring", 8, ring, doubling}}}
	}
	got := winners(partAllgather, []int{2, 4}, []predicted{of(1, 1.5), of(2, 1)})
	want := "allgather, the fastest by P: predicted 2: bruck, 4: ring; measured 2: ring, 4: ring; better than the paper's by 5 % or more: predicted from P = 4 on, measured from P = 2 on"
	if got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	if got := winners(partAllgather, []int{2, 4},
		[]predicted{of(2, 1), of(1, 1.5)}); !strings.HasSuffix(got,
		"predicted at P = 2 alone, measured from P = 2 on") {
		t.Error(got)
	}
	if got := winners(partAllgather, []int{2, 4},
		[]predicted{of(1, 3), of(1, 3)}); !strings.Contains(got, "predicted at no P,") {
		t.Error(got)
	}
	if got := winners(partGrid, []int{1}, []predicted{{}}); got != "grid: one rank sends nothing" {
		t.Error(got)
	}
}

func TestCheckRanks(t *testing.T) {
	if err := CheckRanks([]int{1, 3, 64}, 64); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][]int{nil, {0}, {2, 1}, {2, 2}, {65}} {
		if CheckRanks(wrong, 64) == nil {
			t.Errorf("%v is let pass", wrong)
		}
	}
}
