//go:build unix

package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newCluster starts a master with some flags, and workers, w1 to wN, of a binary.
func newCluster(t *testing.T, binary string, n int, flags ...string) *processes {
	t.Helper()
	path, err := exec.LookPath(binary)
	must(t, err)
	c := &processes{env: os.Environ(), dir: t.TempDir(), binary: path, flags: flags, running: map[string]*member{}}
	t.Cleanup(func() { c.end(t) })
	must(t, c.startMaster("127.0.0.1:0"))
	for i := range n {
		must(t, c.startWorker("w"+string(rune('1'+i))))
	}
	must(t, c.await(n))
	return c
}

// states returns the jobs' states.
func (c *processes) states(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("superstep", "jobs", "--all", "--master", c.address).Output()
	must(t, err)
	var words []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "JOB" {
			words = append(words, f[1])
		}
	}
	return strings.Join(words, " ")
}

// runs waits for a job that runs. What it logged may be forgotten by then: its supersteps are short.
func (c *processes) runs(t *testing.T) {
	t.Helper()
	if !soon(func() bool { return c.states(t) == "running" }) {
		t.Fatalf("found the jobs %q", c.states(t))
	}
}

// rest reads what a command says until it ends, and its exit status.
func (c *interrupted) rest() (string, int) {
	var text strings.Builder
	lines := bufio.NewScanner(c.stderr)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
	}
	_ = c.Wait() // the status is returned
	return text.String(), c.ProcessState.ExitCode()
}

// interruptedJob checks that a command that was interrupted has cancelled its job, and left nothing.
func interruptedJob(t *testing.T, c *processes, run *interrupted, files ...string) {
	t.Helper()
	text, code := run.rest()
	if code != 1 || !strings.HasSuffix(text, " is cancelled\n") || !strings.Contains(text, "superstep: interrupted: job ") {
		t.Errorf("exit status %d, said %q", code, text)
	}
	if found := c.states(t); found != "cancelled" {
		t.Errorf("found the jobs %q, expected one that is cancelled", found)
	}
	entries, err := os.ReadDir(run.Dir)
	must(t, err)
	if len(entries) != len(files) {
		t.Errorf("left %v, expected %v", entries, files)
	}
}

// TestInterruptQueuedJob interrupts a run whose job waits for a worker.
func TestInterruptQueuedJob(t *testing.T) {
	c := newCluster(t, "superstep", 0)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", c.address, "-o", "out")
	if !soon(func() bool { return c.states(t) == "queued" }) {
		t.Fatal("the job never waited")
	}
	must(t, run.Process.Signal(syscall.SIGTERM))
	interruptedJob(t, c, run)
}

// TestQueuedJobIsTold: a run whose job waits for its turn says so after a while, and with -q it does not.
func TestQueuedJobIsTold(t *testing.T) {
	c := newCluster(t, "superstep", 0)
	quiet := start(t, nil, "superstep", "run", "wcc", "-q", "-g", "path:vertices=3", "--master", c.address)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", c.address)
	run.says(" is in the queue: waits for a worker")
	must(t, quiet.Process.Signal(os.Interrupt))
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := quiet.rest(); code != 1 || strings.Contains(text, "in the queue") {
		t.Errorf("with -q: exit status %d, said %q", code, text)
	}
}

// TestInterruptLoadingJob interrupts a run whose graph takes seconds to load.
func TestInterruptLoadingJob(t *testing.T) {
	c := newCluster(t, "superstep", 1)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "kronecker:scale=20", "--master", c.address, "-o", "out")
	if !soon(func() bool { return c.states(t) == "loading" }) {
		t.Fatal("the job never loaded")
	}
	must(t, run.Process.Signal(os.Interrupt))
	interruptedJob(t, c, run)
}

// TestInterruptRunningJob interrupts a run in its supersteps, with two workers.
func TestInterruptRunningJob(t *testing.T) {
	c := newCluster(t, "own", 2)
	run := start(t, map[string]string{"g.el": ring}, "own", "run", "forever", "-g", "g.el", "--master", c.address, "-o", "out", "--json", "report")
	c.runs(t)
	must(t, run.Process.Signal(os.Interrupt))
	interruptedJob(t, c, run, "g.el")
}

// TestInterruptWatching ends the watching, and not the job.
func TestInterruptWatching(t *testing.T) {
	m := newFakeMaster(t)
	watch := start(t, nil, "superstep", "watch", "f00d-1", "--master", m.address)
	m.await(t, "watch")
	must(t, watch.Process.Signal(os.Interrupt))
	watch.ends()
	select {
	case <-m.stopped:
		t.Error("the job was cancelled")
	default:
	}
}

// TestStoppedProcesses stops a worker for longer than its lease, and then all processes of the cluster for several leases, as when a
// machine is suspended: a graph of the catalog is there afterwards, and jobs on it compute what they did before.
func TestStoppedProcesses(t *testing.T) {
	const lease = 500 * time.Millisecond
	c := newCluster(t, "superstep", 2, "--lease", lease.String())
	command := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("superstep", append(args, "--master", c.address)...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	signal := func(s os.Signal, names ...string) {
		for _, name := range names {
			must(t, c.running[name].Process.Signal(s))
		}
	}
	command("graphs", "load", "g", "--graph", "kronecker:scale=6")
	run := []string{"run", "wcc", "-g", "catalog:g", "-o", "-"}
	want := command(run...)
	signal(syscall.SIGSTOP, "w2")
	if !soon(func() bool {
		return strings.Contains(command("graphs", "list"), "waits for worker w2, which holds a share of it")
	}) {
		t.Errorf("found the graphs\n%s", command("graphs", "list"))
	}
	signal(syscall.SIGCONT, "w2")
	if got := command(run...); got != want {
		t.Errorf("found %q, %q before", got, want)
	}
	signal(syscall.SIGSTOP, "master", "w1", "w2")
	<-time.After(3 * lease)
	signal(syscall.SIGCONT, "master", "w1", "w2")
	if got := command(run...); got != want {
		t.Errorf("after all were stopped: found %q, %q before", got, want)
	}
	signal(syscall.SIGSTOP, "master")
	<-time.After(3 * lease)
	signal(syscall.SIGCONT, "master")
	if got := command(run...); got != want {
		t.Errorf("after the master was stopped: found %q, %q before", got, want)
	}
}

// TestMasterStaysAway loses the master while a job is watched, for longer than the client is patient.
func TestMasterStaysAway(t *testing.T) {
	c := newCluster(t, "own", 1)
	run := start(t, map[string]string{"g.el": ring}, "own", "run", "forever", "-g", "g.el", "--master", c.address, "--retry-for", "300ms")
	c.runs(t)
	must(t, c.signal("master", os.Kill))
	text, code := run.rest()
	for _, want := range []string{
		"superstep: warning: lost the connection: the master at " + c.address + " ", "; trying again for 300ms\n",
		"superstep: lost the master at " + c.address + ": tried to reach it for 300ms: the master at " + c.address + " cannot be reached: connection refused\n",
	} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("exit status %d, said %q, expected %q", code, text, want)
		}
	}
}

// TestInterruptSubmitting interrupts a run whose job the master has not taken yet: it is cancelled as soon as it is.
func TestInterruptSubmitting(t *testing.T) {
	for _, detach := range []bool{false, true} {
		m := newFakeMaster(t, "submit")
		args := []string{"run", "wcc", "-g", "path:vertices=3", "--master", m.address}
		if detach {
			args = append(args, "--detach")
		}
		run := start(t, nil, "superstep", args...)
		m.await(t, "submit")
		must(t, run.Process.Signal(os.Interrupt))
		run.says("superstep: warning: interrupted: waiting for the master's answer")
		close(m.submit)
		m.await(t, "cancel")
		if text, code := run.rest(); code != 1 || text != "superstep: interrupted: job f00d-1 is cancelled\n" {
			t.Errorf("exit status %d, said %q", code, text)
		}
		if m.heard.Load() {
			t.Error("the job was confirmed: it may have begun")
		}
	}
}

// TestInterruptTwiceSubmitting does not wait for a master that does not answer.
func TestInterruptTwiceSubmitting(t *testing.T) {
	m := newFakeMaster(t, "submit")
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address)
	m.await(t, "submit")
	must(t, run.Process.Signal(os.Interrupt))
	run.says("superstep: warning: interrupted: waiting for the master's answer")
	must(t, run.Process.Signal(os.Interrupt))
	text, code := run.rest()
	if code != 1 || text != "superstep: interrupted: the master has not answered, and the job will not run\n" {
		t.Errorf("exit status %d, said %q", code, text)
	}
	close(m.submit)
	if m.heard.Load() {
		t.Error("the job was confirmed: it may run")
	}
}

// TestCancellationThatFails gives up a job whose cancellation the master has not answered yet, and then refuses: it may go on.
func TestCancellationThatFails(t *testing.T) {
	m := newFakeMaster(t, "cancel")
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address)
	m.await(t, "watch")
	must(t, run.Process.Signal(os.Interrupt))
	m.await(t, "cancel")
	must(t, run.Process.Signal(os.Interrupt))
	close(m.cancel)
	text, code := run.rest()
	if code != 1 || text != `superstep: interrupted: job f00d-1 could not be cancelled, and may go on: the disk\x1b[31m is full`+"\n" {
		t.Errorf("exit status %d, said %q", code, text)
	}
}

// TestInterruptFetching interrupts a run whose job is done: the result stays with the master, and no file is half written.
func TestInterruptFetching(t *testing.T) {
	m := newFakeMaster(t, "result")
	close(m.finish)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address, "-o", "out")
	m.await(t, "result")
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := run.rest(); code != 1 || text != "superstep: interrupted: job f00d-1 is done, superstep result f00d-1 has what it computed\n" {
		t.Errorf("exit status %d, said %q", code, text)
	}
	entries, err := os.ReadDir(run.Dir)
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

// TestInterruptGraphsLoad ends the loading of a graph: it is gone, and the worker is free for others.
func TestInterruptGraphsLoad(t *testing.T) {
	c := newCluster(t, "superstep", 1)
	run := start(t, nil, "superstep", "graphs", "load", "g", "--graph", "kronecker:scale=20", "--master", c.address)
	loading := func() bool {
		out, err := exec.Command("superstep", "graphs", "list", "--master", c.address).Output()
		return err == nil && strings.Contains(string(out), "loading")
	}
	if !soon(loading) {
		t.Fatal("the graph was never loaded")
	}
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := run.rest(); code != 1 || text != "superstep: interrupted: graph g is dropped\n" {
		t.Errorf("exit status %d, said %q", code, text)
	}
	gone := func() bool {
		out, err := exec.Command("superstep", "graphs", "list", "--master", c.address).Output()
		return err == nil && string(out) == "no graphs\n"
	}
	if !soon(gone) {
		t.Error("the graph is not gone")
	}
	if out, err := exec.Command("superstep", "graphs", "load", "g", "--graph", "path:vertices=3", "--master", c.address).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNamesThatAreNoUTF8 are bad usage of a cluster, said at once.
func TestNamesThatAreNoUTF8(t *testing.T) {
	m := newFakeMaster(t)
	bad := "\xff.el"
	for _, args := range [][]string{
		{"run", "wcc", "--graph", bad},
		{"run", "wcc", "--graph", "g.el", "-p", "x=\xff"},
		{"graphs", "load", "g", "--graph", bad},
		{"watch", bad},
		{"result", bad},
	} {
		run := start(t, map[string]string{bad: ring, "g.el": ring}, "superstep", append(args, "--master", m.address)...)
		text, code := run.rest()
		if code != 2 || strings.Count(text, "\n") != 1 || !strings.Contains(text, `\xff`) || !strings.Contains(text, "expected UTF-8") {
			t.Errorf("%q: exit status %d, said %q", args, code, text)
		}
	}
}
