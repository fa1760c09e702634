package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/scripts"
)

// there reports whether a process runs. A zombie does not.
func there(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// TestUpRestartsTheMaster kills a master with a data directory. A new master starts at the same
// address, and the workers connect to it.
func TestUpRestartsTheMaster(t *testing.T) {
	p, address, all := scripts.StartUp(t, "superstep", "--data", t.TempDir())
	must(t, syscall.Kill(all[""], syscall.SIGKILL))
	want := fmt.Sprintf("superstep: warning: master (process %d) ended: signal: killed; starting it again\n", all[""])
	if !scripts.Soon(func() bool { return strings.Contains(p.Said.String(), want) }) {
		t.Fatalf("its output is %q, expected %q", p.Said, want)
	}
	out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master",
		address, "--workers", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	now := scripts.ProcessesOf(t, p.Process.Pid)
	if now[""] == 0 || now[""] == all[""] || now["w1"] != all["w1"] || now["w2"] != all["w2"] {
		t.Errorf("found the children %v, before %v", now, all)
	}
}

// TestUpRestartsAMasterThatStops: a master that ends by itself passes its token to the next master,
// so the workers stay connected. The next master reports the number of ended jobs. The token is
// removed with the cluster.
func TestUpRestartsAMasterThatStops(t *testing.T) {
	p, address, all := scripts.StartUp(t, "superstep", "--data", t.TempDir())
	out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master",
		address).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, syscall.Kill(all[""], syscall.SIGTERM))
	if !scripts.Soon(func() bool { pid := scripts.ProcessesOf(t, p.Process.Pid)[""]; return pid != 0 && pid != all[""] }) {
		t.Fatalf("there is no other master; its output is %q", p.Said)
	}
	out, err = exec.Command("superstep", "status", "--master", address, "--workers", "2",
		"--retry-for", "30s").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "; 1 job ended, 0 refused\n") {
		t.Errorf("found %v, %s", err, out)
	}
	if now := scripts.ProcessesOf(t, p.Process.Pid); now["w1"] != all["w1"] ||
		now["w2"] != all["w2"] {
		t.Errorf("found the children %v, before %v", now, all)
	}
	link, err := exec.Command("superstep", "status", "--page", "--master", address).Output()
	if want := "http://" + address + "/?token="; err != nil ||
		!strings.HasPrefix(string(link), want) {
		t.Errorf("the page: found %v, %s", err, link)
	} else if r, err := http.Get(strings.TrimSpace(string(link))); err != nil ||
		r.StatusCode != http.StatusOK {
		t.Errorf("the page: found %v, %v", err, r)
	}
	must(t, p.Process.Signal(os.Interrupt))
	<-p.Ended
	if left := tokens(address); len(left) > 0 {
		t.Errorf("found %q left", left)
	}
}

// tokens returns the token files for an address.
func tokens(address string) []string {
	_, port, _ := strings.Cut(address, ":")
	files, _ := filepath.Glob(
		filepath.Join(os.Getenv("XDG_STATE_HOME"), "superstep/tokens/*-"+port+"*"))
	return files
}

// TestTheTokenOfTheKilledIsRemoved: all processes of a cluster are killed, so its token file
// remains. The next search for a token removes it, but no token in use.
func TestTheTokenOfTheKilledIsRemoved(t *testing.T) {
	killed, address, all := scripts.StartUp(t, "superstep")
	_, other, _ := scripts.StartUp(t, "superstep")
	must(t, syscall.Kill(killed.Process.Pid, syscall.SIGSTOP)) // otherwise it would notice
	for _, pid := range all {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	if !scripts.Soon(func() bool { return !there(all[""]) }) {
		t.Fatal("the master lives")
	}
	jobs := func() {
		t.Helper()
		if out, err := exec.Command("superstep", "jobs", "--master", other).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	if jobs(); len(tokens(address)) == 0 {
		t.Error("the token is gone while a process has it")
	}
	must(t, syscall.Kill(killed.Process.Pid, syscall.SIGKILL))
	if <-killed.Ended; len(tokens(address)) == 0 {
		t.Error("nothing is left: this tests nothing")
	}
	jobs()
	if left := tokens(address); len(left) > 0 {
		t.Errorf("found %q left", left)
	}
	jobs()
}

// TestUpRestartsWorkers kills a worker. The output has the reason, and a new worker starts.
func TestUpRestartsWorkers(t *testing.T) {
	p, address, all := scripts.StartUp(t, "superstep")
	must(t, syscall.Kill(all["w1"], syscall.SIGKILL))
	want := fmt.Sprintf(
		"superstep: warning: w1 (process %d) ended: signal: killed; starting it again\n", all["w1"])
	if !scripts.Soon(func() bool { return strings.Contains(p.Said.String(), want) }) {
		t.Fatalf("its output is %q, expected %q", p.Said, want)
	}
	if !scripts.Soon(func() bool { pid := scripts.ProcessesOf(t, p.Process.Pid)["w1"]; return pid != 0 && pid != all["w1"] }) {
		t.Fatal("there is no other w1")
	}
	out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master",
		address, "--workers", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestUpWorkerDiesEarly kills a worker before it has registered. A new one starts, and then the
// cluster is ready.
func TestUpWorkerDiesEarly(t *testing.T) {
	p := scripts.BeginUp(t, "superstep")
	w1 := 0
	for end := time.Now().Add(scripts.Patience); w1 == 0 && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		w1 = scripts.ProcessesOf(t, p.Process.Pid)["w1"]
	}
	if w1 == 0 {
		t.Fatalf("there is no w1; its output is %q", p.Said)
	}
	must(t, syscall.Kill(w1, syscall.SIGKILL))
	if !scripts.Soon(
		func() bool { return strings.Contains(p.Said.String(), "; Ctrl-C ends all\n") }) {
		t.Fatalf("its output is %q", p.Said)
	}
	want := fmt.Sprintf(
		"superstep: warning: w1 (process %d) ended: signal: killed; starting it again\n", w1)
	// On a busy machine it may have registered when the signal arrives.
	if !scripts.Soon(func() bool { return strings.Contains(p.Said.String(), want) }) {
		t.Errorf("its output is %q, expected %q", p.Said, want)
	}
}

// TestUpEnds ends a cluster in each possible way. Nothing remains.
func TestUpEnds(t *testing.T) {
	for what, end := range map[string]struct {
		signal syscall.Signal
		master bool // the master gets the signal, not up
		status int  // -1: ended by a signal
		says   string
	}{
		"interrupt":    {syscall.SIGINT, false, 0, ""},
		"terminate":    {syscall.SIGTERM, false, 0, ""},
		"hang up":      {syscall.SIGHUP, false, 0, ""},
		"quit":         {syscall.SIGQUIT, false, 2, "SIGQUIT: quit"},
		"kill":         {syscall.SIGKILL, false, -1, ""},
		"master dies":  {syscall.SIGKILL, true, 1, " ended: signal: killed\n"},
		"master stops": {syscall.SIGTERM, true, 1, " ended: exit status 0\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(end.signal) {
				t.Skipf("%v is ignored here, as under nohup: it is ignored by all that is started, too", end.signal)
			}
			p, address, all := scripts.StartUp(t, "superstep")
			to := p.Process.Pid
			if end.master {
				to = all[""]
			}
			must(t, syscall.Kill(to, end.signal))
			if !scripts.Soon(func() bool {
				select {
				case <-p.Ended:
				default:
					return false
				}
				for _, pid := range all {
					if there(pid) {
						return false
					}
				}
				return true
			}) {
				t.Fatalf("of %v some are left; its output is %s", all, p.Said)
			}
			if status := p.ProcessState.ExitCode(); status != end.status ||
				!strings.Contains(p.Said.String(), end.says) {
				t.Errorf("exit status %d, expected %d; output %s", status, end.status, p.Said)
			}
			itself := end.status == 0 || end.status == 1 // otherwise the next cluster removes it
			if left := tokens(address); itself && len(left) > 0 {
				t.Errorf("found %q left", left)
			}
		})
	}
}

// TestUpGivesUp kills a worker repeatedly. In the end the cluster stops and names the worker.
func TestUpGivesUp(t *testing.T) {
	t.Parallel()
	p, _, all := scripts.StartUp(t, "superstep")
	gaveUp := func() bool {
		select {
		case <-p.Ended:
			return true
		default:
		}
		if pid := scripts.ProcessesOf(t, p.Process.Pid)["w2"]; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		return false
	}
	if !scripts.Soon(gaveUp) {
		t.Fatalf("its output is %s", p.Said)
	}
	last := regexp.MustCompile(`superstep: w2 \(process \d+\) ended: signal: killed; it was started 6 times within 1m0s\n$`)
	if p.ProcessState.ExitCode() != 1 || !last.MatchString(p.Said.String()) {
		t.Errorf("exit status %d; output %s", p.ProcessState.ExitCode(), p.Said)
	}
	if there(all[""]) || there(all["w1"]) {
		t.Error("processes are left")
	}
}
