package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/netbench"
)

// TestNetbenchPicture: a panel of time and one of bandwidth for each collective of a report, and
// none of what is no report.
func TestNetbenchPicture(t *testing.T) {
	m := collective.Uniform(2, collective.Pair{Alpha: 1e-9, Beta: 3e-5, Gap: 1e-5})
	m.Sites = []int{0, 1}
	r := netbench.Report{Ranks: 2, Model: m}
	for _, n := range []int{0, 8, 64 << 10} {
		p := netbench.Point{
			Collective: netbench.PointToPoint, Algorithm: netbench.Direct, Bytes: n,
			Seconds: 4e-5, Predicted: 3e-5, Bandwidth: float64(n) / 4e-5,
		}
		r.Points = append(r.Points, p)
		p.Algorithm, p.Predicted = netbench.Raw, 0
		r.Points = append(r.Points, p)
		p.Collective, p.Algorithm, p.Predicted = collective.Allreduce, collective.Ring, 5e-5
		r.Points = append(r.Points, p)
	}
	dir := t.TempDir()
	report, picture := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.svg")
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(report, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status := run([]string{"netbench-svg", report, picture}); status != 0 {
		t.Fatalf("status %d", status)
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	s := string(svg)
	for text, n := range map[string]int{">point-to-point<": 2, ">allreduce<": 2, " at 2 sites": 1, "NaN": 0, "Inf": 0} {
		if strings.Count(s, text) != n {
			t.Errorf("%q is there %d times, expected %d", text, strings.Count(s, text), n)
		}
	}
	if status := run([]string{"netbench-svg", picture, report}); status != 1 {
		t.Errorf("of what is no report: status %d", status)
	}
}
