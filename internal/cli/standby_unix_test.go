//go:build unix

package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/test/scripts"
)

// TestStoppedMasterDoesNotAct stops the leading master for longer than its lease while a job runs.
// Another master takes over. When the first continues, it becomes a standby, and does not execute
// commands that it received meanwhile.
func TestStoppedMasterDoesNotAct(t *testing.T) {
	token, _ := secrets(t)
	t.Setenv("SUPERSTEP_TOKEN_FILE", token)
	c := scripts.NewCluster(t, "own", 0, "--token-file", token, "--standby", "--checkpoints",
		filepath.Join(t.TempDir(), "kept"), "--lease", "2s")
	first := c.Address
	must(t, c.StartStandby("second"))
	must(t, c.StartWorker("w1"))
	must(t, c.Await(1))
	id, err := exec.Command("own", "run", "forever", "-g", "path:vertices=3", "--master", c.Address,
		"--detach").Output()
	must(t, err)
	c.Runs(t)
	master := c.Running["master"]
	must(t, master.Process.Signal(syscall.SIGSTOP))
	// this call waits in the connection
	cancel := exec.Command("own", "cancel", strings.TrimSpace(string(id)), "--master", first,
		"--retry-for", "1s")
	if out, err := cancel.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "in time") && !strings.Contains(string(out),
			"no longer answers") && !strings.Contains(string(out), "tried for") {
		t.Errorf("a master that is stopped answers %s", out)
	}
	second := c.Running["second"]
	if !scripts.Soon(
		func() bool { return strings.Contains(second.Said.String(), "state=running") }) {
		t.Fatalf("the second said %s", second.Said)
	}
	must(t, master.Process.Signal(syscall.SIGCONT))
	if !scripts.Soon(func() bool { return strings.Contains(master.Said.String(), "no longer the master: stands by") }) {
		t.Errorf("the first said %s", master.Said)
	}
	if found := c.States(t); !strings.HasPrefix(found, "running") { // or it still loads again
		t.Errorf("found the jobs %q", found)
	}
	for _, deed := range []string{"state=cancelled", "state=failed", "worker lost", "worker may leave"} {
		if strings.Contains(master.Said.String(), deed) {
			t.Errorf("the first has done something:\n%s", master.Said)
		}
	}
	must(t, c.Signal("second", syscall.SIGTERM))
	if !scripts.Soon(func() bool { return c.States(t) == "running" && strings.Count(master.Said.String(), "master at") == 2 }) {
		t.Errorf("found the jobs %q, and the first said %s", c.States(t), master.Said)
	}
}
