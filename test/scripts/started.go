package scripts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
)

// Must fails the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NewCluster starts a master of a binary with flags, and workers w1 to wN.
func NewCluster(t *testing.T, binary string, n int, flags ...string) *Processes {
	t.Helper()
	path, err := exec.LookPath(binary)
	Must(t, err)
	c := &Processes{Env: os.Environ(), Dir: t.TempDir(), Binary: path, Flags: flags, Running: map[string]*Member{}}
	t.Cleanup(func() { c.end(t) })
	Must(t, c.StartMaster("127.0.0.1:0"))
	for i := range n {
		Must(t, c.StartWorker("w"+string(rune('1'+i))))
	}
	Must(t, c.Await(n))
	return c
}

// States returns the states of the jobs.
func (c *Processes) States(t *testing.T) string {
	t.Helper()
	var words []string
	var err error
	if !Soon(func() bool {
		err = c.connect(func(ctx context.Context, client control.ClusterClient) error {
			r, err := client.ListJobs(ctx,
				&control.ListJobsRequest{Ended: true})
			if err != nil {
				return err
			}
			words = nil
			for _, j := range r.GetJobs() {
				words = append(words, j.State.Detail())
			}
			return nil
		})
		return err == nil
	}) {
		t.Fatal(err)
	}
	return strings.Join(words, " ")
}

// Runs waits until a job runs. It checks the state, because early log lines may already be removed.
func (c *Processes) Runs(t *testing.T) {
	t.Helper()
	if !Soon(func() bool { return c.States(t) == "running" }) {
		t.Fatalf("found the jobs %q", c.States(t))
	}
}

// ChildrenOf returns the directories in /proc of a process's children.
func ChildrenOf(t *testing.T, parent int) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	Must(t, err)
	return slices.DeleteFunc(all, func(dir string) bool {
		stat, _ := os.ReadFile(dir + "/stat") // missing if the process has ended
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest) // state, parent, ...
		return len(fields) < 2 || fields[1] != fmt.Sprint(parent)
	})
}
