//go:build unix

package cli_test

import (
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/scripts"
)

// TestAWorkerThatStallsIsGivenTime: a worker's process stops for a while, as when it waits for
// swapped pages, and later for longer than its lease. Because the master has learned of the first
// stall, the worker is not lost at the second.
func TestAWorkerThatStallsIsGivenTime(t *testing.T) {
	t.Parallel()
	c := scripts.NewCluster(t, "superstep", 1, "--lease", "4s") // a heartbeat every 0.8 s
	status := func() (lost uint64, heard float64) {
		var s struct {
			WorkersLost uint64 `json:"workers_lost,string"`
			Workers     []struct {
				HeardSeconds float64 `json:"heard_seconds"`
			}
		}
		out, err := exec.Command("superstep", "status", "--json", "--master", c.Address).Output()
		must(t, err)
		must(t, json.Unmarshal(out, &s))
		if len(s.Workers) != 1 {
			t.Fatalf("found %s", out)
		}
		return s.WorkersLost, s.Workers[0].HeardSeconds
	}
	for _, stop := range []time.Duration{2400 * time.Millisecond, 5 * time.Second} {
		must(t, c.Running["w1"].Process.Signal(syscall.SIGSTOP))
		<-time.After(stop)
		must(t, c.Running["w1"].Process.Signal(syscall.SIGCONT))
		until(t, "a heartbeat", func() bool { _, heard := status(); return heard < 1 })
		if lost, _ := status(); lost > 0 {
			t.Fatalf("the worker was lost while it stood still for %v", stop)
		}
	}
}
