//go:build linux

package cluster_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts"
)

// TestStatusShowsTheNetwork: after a job on a link with known delay and rate, status shows both, as
// measured when the graph was loaded and from the job's own messages.
func TestStatusShowsTheNetwork(t *testing.T) {
	const rate = 16 << 20 // bytes a second
	c := start(t, 2, map[int]hosts.Wire{2: {Delay: 2 * time.Millisecond, Rate: rate}})
	if out, err := c.client("run", "pagerank", "--graph", "kronecker:scale=14", "--workers", "2",
		"--quiet"); err != nil {
		t.Fatal(out, err)
	}
	c.await("the network and traffic in it", func(string) bool {
		out, err := c.client("status", "--json")
		if err != nil {
			t.Fatal(err)
		}
		var status struct {
			Workers []struct {
				Ways []struct {
					Worker         string
					BytesPerSecond float64 `json:"bytes_per_second"`
					DelaySeconds   float64 `json:"delay_seconds"`
					Traffic        bool
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &status); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, w := range status.Workers {
			for _, x := range w.Ways {
				if !x.Traffic {
					return false
				}
				if seen++; x.DelaySeconds < .0015 || x.DelaySeconds > .02 ||
					x.BytesPerSecond < rate/8 || x.BytesPerSecond > 2*rate {
					t.Errorf("to %s: %g bytes a second, %g s", x.Worker, x.BytesPerSecond,
						x.DelaySeconds)
				}
			}
		}
		return seen == 2
	})
	out, err := c.client("status")
	t.Log(out, err)
}
