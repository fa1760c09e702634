package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/superstep-go/superstep/test/scripts"
)

// TestHowWorkersDie ends workers in ways that they cannot report themselves. Their jobs report it.
// New workers replace them, and no process remains.
func TestHowWorkersDie(t *testing.T) {
	t.Parallel()
	up, address, _ := scripts.StartUp(t, "own")
	const ended = `, (after \d+ supersteps?|while it was loading, or in superstep 0)`
	const reason = `its process crashed or was killed: its log may say why`
	for program, killed := range map[string]bool{"deep": false, "racing": false, "forever": true} {
		workers, monitors := scripts.ProcessesOf(t, up.Process.Pid), map[string]int{}
		for _, name := range []string{"w1", "w2"} {
			of := scripts.ProcessesOf(t, workers[name])
			if monitors[name] = of[""]; len(of) != 1 || of[""] == 0 {
				t.Fatalf("%s has the children %v, expected a monitor", name, of)
			}
		}
		job := exec.Command("own", "run", program, "-g", "star:vertices=1", "--master", address,
			"--workers", "2")
		said := &scripts.Output{}
		job.Stdout, job.Stderr = said, said
		must(t, job.Start())
		if killed {
			if !scripts.Soon(func() bool { return regexp.MustCompile(`superstep 3: here`).MatchString(said.String()) }) {
				t.Fatalf("its output is %s", said)
			}
			// as systemd does with all processes of a unit
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
				must(t, syscall.Kill(monitors["w1"], s))
			}
			must(t, syscall.Kill(workers["w1"], syscall.SIGKILL))
			if !scripts.Soon(
				func() bool { return strings.Contains(said.String(), "attempt 2 of 3") }) {
				t.Fatalf("its output is %s", said)
			}
			must(t, job.Process.Signal(syscall.SIGINT))
		}
		_ = job.Wait() // its output is checked elsewhere
		want := regexp.MustCompile(`(?m)^superstep: job \S+ failed: 3 attempts: (worker w[12] was lost: ` + reason + ended + `(; |$)){3}`)
		if killed {
			want = regexp.MustCompile(`(?m)^superstep: warning: job \S+: worker w1 was lost: ` +
				reason + ended + `; the job begins again, attempt 2 of 3$`)
		}
		if !want.MatchString(said.String()) {
			t.Errorf("%s: its output is %s", program, said)
		}
		next, err := exec.Command("own", "run", "count", "-g", "path:vertices=9", "--master",
			address, "--workers", "2").CombinedOutput()
		if err != nil {
			t.Fatalf("after %s: %v: %s", program, err, next)
		}
		for name, pid := range workers {
			if (name == "w1" || name == "w2") && !there(pid) &&
				!scripts.Soon(func() bool { return !there(monitors[name]) }) {
				t.Errorf("%s: the monitor of %s is left", program, name)
			}
		}
	}
	// A worker that leaves is not reported.
	const died = "its process crashed or was killed"
	reported := strings.Count(up.Said.String(), died)
	must(t, syscall.Kill(-scripts.ProcessesOf(t, up.Process.Pid)["w2"], syscall.SIGINT))
	if !scripts.Soon(func() bool { return strings.Contains(up.Said.String(), "ended: exit status 0; starting it again") }) {
		t.Fatalf("its output is %s", up.Said)
	}
	if out, err := exec.Command("own", "status", "--master", address, "--workers",
		"2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := strings.Count(up.Said.String(), died); reported == 0 || n != reported {
		t.Errorf("the output names a killed process %d times, later %d times", reported, n)
	}
	all := scripts.ProcessesOf(t, up.Process.Pid)
	monitor := scripts.ProcessesOf(t, all["w1"])[""]
	for fd, want := range map[string]string{"0": `^pipe:`, "1": `^/dev/null$`, "2": `^/dev/null$`} {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", monitor, fd)); err != nil ||
			!regexp.MustCompile(want).MatchString(to) {
			t.Errorf("descriptor %s of a monitor is %s, %v", fd, to, err)
		}
	}
	must(t, up.Process.Signal(os.Interrupt))
	<-up.Ended
	if there(monitor) {
		t.Error("a monitor is left of a worker that has ended by itself")
	}
}
