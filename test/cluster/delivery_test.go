//go:build linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts"
)

// TestAutoOnLinksWithDelay: between workers with a delay of 1 ms each way, the model's choices take
// at most a tenth longer than the best fixed delivery, plus the time of a superstep, because
// medians of a few runs vary that much on a busy machine. The aim is 5 %; lab/results.md has the
// measurements. SUPERSTEP_ROUNDS and SUPERSTEP_SCALE make the test larger; SUPERSTEP_DELAY, in
// microseconds each way, and SUPERSTEP_RATE, in bytes per second, change the links.
func TestAutoOnLinksWithDelay(t *testing.T) {
	rounds, scale := number("SUPERSTEP_ROUNDS", 1), number("SUPERSTEP_SCALE", 14)
	half := hosts.Wire{
		Delay: time.Duration(number("SUPERSTEP_DELAY", 1000)) * time.Microsecond / 2,
		Rate:  number("SUPERSTEP_RATE", 0),
	}
	c := start(t, 4, map[int]hosts.Wire{1: half, 2: half, 3: half, 4: half})
	if out, err := c.client("graphs", "load", "k", "--graph",
		fmt.Sprintf("kronecker:scale=%d", scale), "--weights", "float64", "--quiet"); err != nil {
		t.Fatal(out, err)
	}
	deliveries := []string{"auto", "naive", "mirrored", "lalp", "pull"}
	t.Logf("SCALE %d, 4 workers, medians of %d by turns, ms: %v", scale, rounds, deliveries)
	for _, program := range [][]string{
		{"bfs", "-p", "source=1"},
		{"pagerank", "-p", "iterations=10"},
		{"wcc"},
		{"sssp", "-p", "source=1"},
	} {
		times, supersteps := make([][]float64, len(deliveries)), 1
		for try := 1; ; try++ { // the machine's other work may slow down one delivery
			for round := range rounds + 1 {
				for i := range deliveries {
					at := (i + round) % len(deliveries)
					var seconds float64
					seconds, supersteps = c.clocked(append(slices.Clone(program), "--delivery",
						deliveries[at])...)
					if round > 0 { // the first run pays for data that is kept with the graph
						times[at] = append(times[at], seconds)
					}
				}
			}
			var medians, quick []float64 // the shortest: the machine's other work only adds time
			var text strings.Builder
			for _, each := range times {
				slices.Sort(each)
				medians, quick = append(medians, each[len(each)/2]),
					append(quick, each[0])
				fmt.Fprintf(&text, " %.1f (%.1f..%.1f)", 1e3*each[len(each)/2],
					1e3*each[len(each)/4],
					1e3*each[len(each)*3/4])
			}
			best := slices.Min(quick[1:])
			t.Logf("%s:%s, auto over the best %.2f", program[0], text.String(),
				medians[0]/slices.Min(medians[1:]))
			allowed := 1.1 + 1/float64(supersteps)
			if quick[0] <= allowed*best || medians[0] <= allowed*slices.Min(medians[1:]) {
				break
			}
			if try == 8 {
				t.Errorf("%s: auto took %.1f ms, the best fixed delivery %.1f",
					program[0], 1e3*quick[0],
					1e3*best)
				break
			}
		}
	}
}

// clocked runs a program on the loaded graph. It returns the seconds of the run and the number of
// supersteps.
func (c *cluster) clocked(args ...string) (float64, int) {
	c.Helper()
	out, err := c.client(append(append([]string{"run"}, args...), "--graph", "catalog:k", "--json",
		"-", "--quiet")...)
	if err != nil {
		c.Fatal(out, err)
	}
	var r struct {
		Seconds    float64 `json:"run_time"`
		Supersteps int     `json:"supersteps"`
	}
	if err := json.NewDecoder(strings.NewReader(out[strings.IndexByte(out,
		'{'):])).Decode(&r); err != nil || r.Seconds <= 0 || r.Supersteps == 0 {
		c.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	return r.Seconds, r.Supersteps
}

// number reads an integer from an environment variable.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
