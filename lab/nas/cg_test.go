package nas

import (
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/lab/cluster"
)

func classS(t *testing.T) Class {
	class, err := FindClass("S")
	if err != nil {
		t.Fatal(err)
	}
	return class
}

// TestMatrixIsThatOfNPB compares the numbers of entries with NPB's. The published zeta checks the
// values.
func TestMatrixIsThatOfNPB(t *testing.T) {
	for name, want := range map[string]int{"S": 78148, "W": 508402, "A": 1853104} {
		if testing.Short() && name != "S" {
			continue
		}
		class, err := FindClass(name)
		if err != nil {
			t.Fatal(err)
		}
		m := MakeA(class.CG)
		if m.Rows() != class.CG.Rows || len(m.Values) != want || len(m.Columns) != want {
			t.Errorf("class %s: %d rows with %d entries, expected %d with %d", name, m.Rows(),
				len(m.Values), class.CG.Rows, want)
		}
		for i := range m.Rows() {
			row := m.Columns[m.Starts[i]:m.Starts[i+1]]
			if !slices.IsSorted(row) || len(slices.Compact(slices.Clone(row))) != len(row) ||
				!slices.Contains(row, uint32(i)) {
				t.Fatalf("class %s: row %d has the columns %v", name, i, row)
			}
		}
	}
}

func TestCGFindsZeta(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCGOnACluster has the same concurrency")
	}
	class := classS(t)
	for _, at := range []CGPlace{
		{Grid: superstep.Grid{Rows: 1, Columns: 1}, Threads: 1},
		{Grid: superstep.Grid{Rows: 1, Columns: 3}, Threads: 3},
		{Grid: superstep.Grid{Rows: 2, Columns: 3}, Threads: 2},
	} {
		r, err := RunCG(t.Context(), class, at)
		if err != nil {
			t.Fatal(err)
		}
		checkCG(t, class, r)
	}
}

// checkCG checks a result of CG.
func checkCG(t *testing.T, class Class, r *CGResult) {
	t.Helper()
	if !r.Verified || !(math.Abs(r.Zeta-class.CG.Zeta) <= 1e-10) || !(r.Norm < 1e-12) {
		t.Errorf("%s: zeta %v, rnorm %v, verified %v; expected %v", r.Grid, r.Zeta, r.Norm,
			r.Verified, class.CG.Zeta)
	}
	if r.Supersteps != class.CG.Iterations*period || r.Seconds <= 0 ||
		class.CG.Iterations > 1 && math.Abs(r.MFLOPS*r.Seconds*1e6/66654000-1) > 1e-9 {
		t.Errorf("%s: %d supersteps, %v MFLOPS in %v s", r.Grid, r.Supersteps, r.MFLOPS, r.Seconds)
	}
}

// TestAWrongMatrixIsSeen changes one of many entries by 1 %. Then zeta is not the published one.
func TestAWrongMatrixIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCGOnACluster has the same concurrency")
	}
	class := classS(t)
	edges := MakeA(class.CG).Edges()
	edges[len(edges)/2].Weight *= 1.01
	g, err := superstep.FromEdges(t.Context(), edges)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	r := &CGResult{}
	if err := r.run(t.Context(), class, g, superstep.Options{}); err != nil || r.Verified {
		t.Errorf("zeta %v is verified: %v", r.Zeta, err)
	}
	if r.judge(math.NaN(), 0); r.Verified {
		t.Error("no number is verified")
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "WRONG") {
		t.Errorf("%s %v", &text, err)
	}
}

func TestCGOnACluster(t *testing.T) {
	class := classS(t)
	grids := []superstep.Grid{{Rows: 2, Columns: 1}, {Rows: 2, Columns: 2}}
	if testing.Short() {
		class.CG.Iterations, class.CG.Zeta = 1, zetaAfter(t, class.CG, 1)
		grids = grids[1:]
	}
	for _, grid := range grids {
		var all []*exec.Cmd
		r, err := RunCG(t.Context(), class,
			CGPlace{Grid: grid, Cluster: &cluster.Cluster{Workers: 2, Threads: 1, Command: launched("worker", &all)}})
		if err != nil {
			t.Fatal(err)
		}
		checkCG(t, class, r)
		haveEnded(t, 2, all)
	}
}

// TestCGOnAClusterAtTwoSites: every superstep waits for the other site twice: for its report, and
// until it has the next command.
func TestCGOnAClusterAtTwoSites(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCGOnACluster has the same concurrency")
	}
	if runtime.GOOS != "linux" {
		t.Skip("sites have addresses of the loopback device that only Linux answers without being told to")
	}
	const delay = 2 * time.Millisecond
	class := classS(t)
	class.CG.Iterations, class.CG.Zeta = 1, zetaAfter(t, class.CG, 1)
	var all []*exec.Cmd
	r, err := RunCG(t.Context(), class, CGPlace{
		Grid: superstep.Grid{Rows: 2, Columns: 1},
		Cluster: &cluster.Cluster{Workers: 2, Threads: 1, Delay: delay, Command: launched("worker",
			&all)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if least := period * 2 * delay.Seconds(); !r.Verified || r.Seconds < least ||
		r.Delay != delay.Seconds() {
		t.Errorf("zeta %v, expected %v; %v s, expected %v or more", r.Zeta, class.CG.Zeta,
			r.Seconds, least)
	}
	haveEnded(t, 2, all)
}

func haveEnded(t *testing.T, want int, all []*exec.Cmd) {
	t.Helper()
	if len(all) != want {
		t.Errorf("%d processes, expected %d", len(all), want)
	}
	for _, cmd := range all {
		if cmd.ProcessState == nil {
			t.Errorf("process %d is left", cmd.Process.Pid)
		}
	}
}
