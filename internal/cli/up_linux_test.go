package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// processesOf returns the processes whose parent is a process, by the name of their --name flag; the master's is empty.
func processesOf(t *testing.T, parent int) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, dir := range childrenOf(t, parent) {
		pid, err := strconv.Atoi(filepath.Base(dir))
		must(t, err)
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // one that has ended meanwhile has none
		name := ""
		args := strings.Split(string(line), "\x00")
		for i, a := range args {
			if a == "--name" {
				name = args[i+1]
			}
		}
		all[name] = pid
	}
	return all
}

// there reports whether a process runs; one that nobody has waited for does not.
func there(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// startUp starts a cluster of two workers by the up of a binary, and returns it and its processes.
func startUp(t *testing.T, binary string, flags ...string) (*member, string, map[string]int) {
	t.Helper()
	p := &member{Cmd: exec.Command(binary, append([]string{"up", "--workers", "2", "--threads", "1", "--listen", "127.0.0.1:0"}, flags...)...), said: &saidText{}, ended: make(chan struct{})}
	p.Stdout, p.Stderr = p.said, p.said
	must(t, p.Start())
	go func() {
		_ = p.Wait() // the status is looked at
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	example := regexp.MustCompile(`(?m)^  ` + binary + ` run .* --master (\S+)$`)
	if !soon(func() bool { return example.MatchString(p.said.String()) }) {
		t.Fatalf("it said %q", p.said)
	}
	all := processesOf(t, p.Process.Pid)
	if len(all) != 3 || all["w1"] == 0 || all["w2"] == 0 {
		t.Fatalf("found the children %v", all)
	}
	return p, example.FindStringSubmatch(p.said.String())[1], all
}

// TestUpRestartsTheMaster kills a master that has a directory: another one comes in its place, at the same address, and the workers come to it.
func TestUpRestartsTheMaster(t *testing.T) {
	p, address, all := startUp(t, "superstep", "--data", t.TempDir())
	must(t, syscall.Kill(all[""], syscall.SIGKILL))
	want := fmt.Sprintf("superstep: warning: master (process %d) ended: signal: killed; starting it again\n", all[""])
	if !soon(func() bool { return strings.Contains(p.said.String(), want) }) {
		t.Fatalf("it said %q, expected %q", p.said, want)
	}
	out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master", address, "--workers", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	now := processesOf(t, p.Process.Pid)
	if now[""] == 0 || now[""] == all[""] || now["w1"] != all["w1"] || now["w2"] != all["w2"] {
		t.Errorf("found the children %v, before %v", now, all)
	}
}

// TestUpRestartsWorkers kills a worker: how it ended is said, and another one comes in its place.
func TestUpRestartsWorkers(t *testing.T) {
	p, address, all := startUp(t, "superstep")
	must(t, syscall.Kill(all["w1"], syscall.SIGKILL))
	want := fmt.Sprintf("superstep: warning: w1 (process %d) ended: signal: killed; starting it again\n", all["w1"])
	if !soon(func() bool { return strings.Contains(p.said.String(), want) }) {
		t.Fatalf("it said %q, expected %q", p.said, want)
	}
	if !soon(func() bool { pid := processesOf(t, p.Process.Pid)["w1"]; return pid != 0 && pid != all["w1"] }) {
		t.Fatal("there is no other w1")
	}
	out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master", address, "--workers", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestUpEnds ends a cluster in each way it can end: nothing of it is left.
func TestUpEnds(t *testing.T) {
	for what, end := range map[string]struct {
		signal syscall.Signal
		master bool // gets it
		status int  // -1: of a signal
		says   string
	}{
		"interrupt":    {syscall.SIGINT, false, 0, ""},
		"terminate":    {syscall.SIGTERM, false, 0, ""},
		"hang up":      {syscall.SIGHUP, false, 0, ""},
		"kill":         {syscall.SIGKILL, false, -1, ""},
		"master dies":  {syscall.SIGKILL, true, 1, " ended: signal: killed\n"},
		"master stops": {syscall.SIGTERM, true, 1, " ended: exit status 0\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(end.signal) {
				t.Skipf("%v is ignored here, as under nohup: it is ignored by all that is started, too", end.signal)
			}
			p, _, all := startUp(t, "superstep")
			to := p.Process.Pid
			if end.master {
				to = all[""]
			}
			must(t, syscall.Kill(to, end.signal))
			if !soon(func() bool {
				select {
				case <-p.ended:
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
				t.Fatalf("of %v some are left; it said %s", all, p.said)
			}
			if status := p.ProcessState.ExitCode(); status != end.status || !strings.Contains(p.said.String(), end.says) {
				t.Errorf("exit status %d, expected %d; it said %s", status, end.status, p.said)
			}
		})
	}
}

// TestUpGivesUp kills a worker again and again: at last all end, and the worker is named.
func TestUpGivesUp(t *testing.T) {
	t.Parallel()
	p, _, all := startUp(t, "superstep")
	gaveUp := func() bool {
		select {
		case <-p.ended:
			return true
		default:
		}
		if pid := processesOf(t, p.Process.Pid)["w2"]; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		return false
	}
	if !soon(gaveUp) {
		t.Fatalf("it said %s", p.said)
	}
	last := regexp.MustCompile(`superstep: w2 \(process \d+\) ended: signal: killed; it was started 6 times within 1m0s\n$`)
	if p.ProcessState.ExitCode() != 1 || !last.MatchString(p.said.String()) {
		t.Errorf("exit status %d; it said %s", p.ProcessState.ExitCode(), p.said)
	}
	if there(all[""]) || there(all["w1"]) {
		t.Error("processes are left")
	}
}
