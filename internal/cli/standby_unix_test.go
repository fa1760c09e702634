//go:build unix

package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStoppedMasterDoesNotAct stops the master that leads for longer than its lease, while a job runs: another one takes over, and when the first goes on it stands by. What it
// was sent while it was stopped it does not do.
func TestStoppedMasterDoesNotAct(t *testing.T) {
	c := newCluster(t, "own", 0, "--standby", "--checkpoints", filepath.Join(t.TempDir(), "kept"), "--lease", "500ms")
	first := c.address
	must(t, c.startStandby("second"))
	must(t, c.startWorker("w1"))
	must(t, c.await(1))
	id, err := exec.Command("own", "run", "forever", "-g", "path:vertices=3", "--master", c.address, "--detach").Output()
	must(t, err)
	c.runs(t)
	master := c.running["master"]
	must(t, master.Process.Signal(syscall.SIGSTOP))
	cancel := exec.Command("own", "cancel", strings.TrimSpace(string(id)), "--master", first, "--retry-for", "1s") // waits in the connection
	if out, err := cancel.CombinedOutput(); err == nil || !strings.Contains(string(out), "in time") && !strings.Contains(string(out), "no longer answers") && !strings.Contains(string(out), "tried for") {
		t.Errorf("a master that is stopped answers %s", out)
	}
	second := c.running["second"]
	if !soon(func() bool { return strings.Contains(second.said.String(), "state=running") }) {
		t.Fatalf("the second said %s", second.said)
	}
	must(t, master.Process.Signal(syscall.SIGCONT))
	if !soon(func() bool { return strings.Contains(master.said.String(), "no longer the master: stands by") }) {
		t.Errorf("the first said %s", master.said)
	}
	if found := c.states(t); found != "running" {
		t.Errorf("found the jobs %q", found)
	}
	for _, deed := range []string{"state=cancelled", "state=failed", "worker lost", "worker may go"} {
		if strings.Contains(master.said.String(), deed) {
			t.Errorf("the first has done something:\n%s", master.said)
		}
	}
	must(t, c.signal("second", syscall.SIGTERM))
	if !soon(func() bool { return c.states(t) == "running" && strings.Count(master.said.String(), "master at") == 2 }) {
		t.Errorf("found the jobs %q, and the first said %s", c.states(t), master.said)
	}
}
