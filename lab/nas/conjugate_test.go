package nas

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
)

// TestSolverFindsZeta in grids of all shapes, including pieces of different sizes.
func TestSolverFindsZeta(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCGOnACluster has the same concurrency")
	}
	class := classS(t)
	m := MakeA(class.CG)
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 1, Columns: 3}, {Rows: 5, Columns: 1}, {Rows: 2, Columns: 4}} {
		links := memlink.New(grid.Partitions(), nil)
		var all sync.WaitGroup
		for rank := range grid.Partitions() {
			all.Go(func() {
				s, err := NewSolver(class.CG, m, grid, links.Link(rank),
					collective.Uniform(grid.Partitions(), collective.Unmeasured), nil)
				if err != nil {
					t.Error(err)
					return
				}
				zeta, norm, err := s.Power(t.Context(), class.CG.Iterations)
				if err != nil || !(math.Abs(zeta-class.CG.Zeta) <= 1e-10) || !(norm < 1e-12) {
					t.Errorf("%v: zeta %v, rnorm %v, expected %v: %v", grid, zeta, norm,
						class.CG.Zeta, err)
				}
			})
		}
		all.Wait()
	}
	if _, err := NewSolver(class.CG, m, graph.Of(3), memlink.New(2, nil).Link(0), nil,
		nil); err == nil {
		t.Error("a grid of 3 for 2 ranks")
	}
}

// TestComparison: between two sites, every way has a row for each benchmark and placement, and none
// is faster than the delay allows.
func TestComparison(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCGOnACluster has the same concurrency")
	}
	class := classS(t)
	class.CG.Iterations, class.CG.Zeta = 1, zetaAfter(t, class.CG, 1)
	at := Place{Ranks: 3, Delay: 200 * time.Microsecond, Bandwidth: 1e9}
	stages := 0
	at.Stage = func(string, int, int) { stages++ }
	r, err := Compare(t.Context(), class, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Table.Rows) != 3*2*len(ways) || !r.Verified || stages == 0 {
		t.Errorf("%d rows, verified %v, %d stages", len(r.Table.Rows), r.Verified, stages)
	}
	for _, row := range r.Table.Rows {
		seconds, ratio := row[4].(float64), row[7].(float64)
		least := map[string]float64{"CG": 3 * 25 * at.Delay.Seconds(), "IS": 2 * 10 * at.Delay.Seconds()}[row[0].(string)]
		if seconds < least {
			t.Errorf("%v takes less than %v s of delay", row, least)
		}
		if row[2] == "sites" && ratio != 1 {
			t.Errorf("%v: the ratio to itself", row)
		}
	}
}

// zetaAfter returns the result of one rank after this number of iterations.
func zetaAfter(t *testing.T, size CGSize, iterations int) float64 {
	t.Helper()
	s, err := NewSolver(size, MakeA(size), graph.Of(1), memlink.New(1, nil).Link(0),
		collective.Uniform(1, collective.Unmeasured), nil)
	if err != nil {
		t.Fatal(err)
	}
	zeta, _, err := s.Power(t.Context(), iterations)
	if err != nil {
		t.Fatal(err)
	}
	return zeta
}
