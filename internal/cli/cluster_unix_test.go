//go:build unix

package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/scripts"
)

// rest reads the output of a command until it ends, and returns its exit status.
func (c *interrupted) rest() (string, int) {
	var text strings.Builder
	lines := bufio.NewScanner(c.stderr)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
	}
	_ = c.Wait() // the status is returned below
	return text.String(), c.ProcessState.ExitCode()
}

// interruptedJob checks that an interrupted command has cancelled its job and left no files.
func interruptedJob(t *testing.T, c *scripts.Processes, run *interrupted, files ...string) {
	t.Helper()
	text, code := run.rest()
	if code != 1 || !strings.HasSuffix(text, " is cancelled\n") ||
		!strings.Contains(text, "superstep: interrupted: job ") {
		t.Errorf("exit status %d, output %q", code, text)
	}
	if found := c.States(t); found != "cancelled" {
		t.Errorf("found the jobs %q, expected one that is cancelled", found)
	}
	entries, err := os.ReadDir(run.Dir)
	must(t, err)
	if len(entries) != len(files) {
		t.Errorf("left %v, expected %v", entries, files)
	}
}

// TestInterruptQueuedJob interrupts a run while its job waits for a worker.
func TestInterruptQueuedJob(t *testing.T) {
	c := scripts.NewCluster(t, "superstep", 0)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", c.Address,
		"-o", "out")
	if !scripts.Soon(func() bool { return c.States(t) == "queued" }) {
		t.Fatal("the job never waited")
	}
	must(t, run.Process.Signal(syscall.SIGTERM))
	interruptedJob(t, c, run)
}

// TestQueuedJobIsTold: a run reports after a while that its job is queued. With -q it does not.
func TestQueuedJobIsTold(t *testing.T) {
	c := scripts.NewCluster(t, "superstep", 0)
	quiet := start(t, nil, "superstep", "run", "wcc", "-q", "-g", "path:vertices=3", "--master",
		c.Address)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", c.Address)
	run.says(" is in the queue: waits for a worker")
	must(t, quiet.Process.Signal(os.Interrupt))
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := quiet.rest(); code != 1 || strings.Contains(text, "in the queue") {
		t.Errorf("with -q: exit status %d, output %q", code, text)
	}
}

// TestInterruptLoadingJob interrupts a run while its graph is loaded, which takes seconds.
func TestInterruptLoadingJob(t *testing.T) {
	c := scripts.NewCluster(t, "superstep", 1)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "kronecker:scale=20", "--master",
		c.Address, "-o", "out")
	if !scripts.Soon(func() bool { return c.States(t) == "running, loading" }) {
		t.Fatal("the job never loaded")
	}
	must(t, run.Process.Signal(os.Interrupt))
	interruptedJob(t, c, run)
}

// TestInterruptRunningJob interrupts a run during supersteps on two workers.
func TestInterruptRunningJob(t *testing.T) {
	c := scripts.NewCluster(t, "own", 2)
	run := start(t, map[string]string{"g.el": ring}, "own", "run", "forever", "-g", "g.el",
		"--master", c.Address, "-o", "out", "--json", "report")
	c.Runs(t)
	must(t, run.Process.Signal(os.Interrupt))
	interruptedJob(t, c, run, "g.el")
}

// TestInterruptWatching interrupts superstep watch. The job continues.
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

// TestStoppedProcesses stops a worker for longer than its lease. Then it stops all processes of the
// cluster for several leases, as when a machine is suspended. Afterwards the catalog still has the
// graph, and jobs on it give the same results.
func TestStoppedProcesses(t *testing.T) {
	const lease = time.Second
	c := scripts.NewCluster(t, "superstep", 2, "--lease", lease.String())
	command := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("superstep", append(args, "--master", c.Address)...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	signal := func(s os.Signal, names ...string) {
		for _, name := range names {
			must(t, c.Running[name].Process.Signal(s))
		}
	}
	command("graphs", "load", "g", "--graph", "kronecker:scale=6")
	run := []string{"run", "wcc", "-g", "catalog:g", "-o", "-"}
	want := command(run...)
	signal(syscall.SIGSTOP, "w2")
	if !scripts.Soon(func() bool {
		return strings.Contains(command("graphs", "list"),
			"waits for worker w2, which holds a share of it")
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

// TestMasterStaysAway: the master is lost while a job is watched, for longer than the client
// retries.
func TestMasterStaysAway(t *testing.T) {
	c := scripts.NewCluster(t, "own", 1)
	run := start(t, map[string]string{"g.el": ring}, "own", "run", "forever", "-g", "g.el",
		"--master", c.Address, "--retry-for", "300ms")
	c.Runs(t)
	must(t, c.Signal("master", os.Kill))
	text, code := run.rest()
	for _, want := range []string{
		"superstep: warning: lost the connection: the master at " + c.Address + " ",
		"; trying again for 300ms\n",
		" may go on: lost the master at " + c.Address +
			": tried to reach it for 300ms: the master at " + c.Address +
			" cannot be reached: connection refused\n",
	} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("exit status %d, output %q, expected %q", code, text, want)
		}
	}
}

// TestInterruptSubmitting interrupts a run before the master has accepted its job. The job is
// cancelled as soon as it is accepted.
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
		if text, code := run.rest(); code != 1 ||
			text != "superstep: interrupted: job f00d-1 is cancelled\n" {
			t.Errorf("exit status %d, output %q", code, text)
		}
		if m.heard.Load() {
			t.Error("the job was confirmed: it may have begun")
		}
	}
}

// TestInterruptTwiceSubmitting: after two interrupts a command does not wait for a silent master.
func TestInterruptTwiceSubmitting(t *testing.T) {
	m := newFakeMaster(t, "submit")
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address)
	m.await(t, "submit")
	must(t, run.Process.Signal(os.Interrupt))
	run.says("superstep: warning: interrupted: waiting for the master's answer")
	must(t, run.Process.Signal(os.Interrupt))
	text, code := run.rest()
	if code != 1 ||
		text != "superstep: interrupted: the master has not answered, and the job will not run\n" {
		t.Errorf("exit status %d, output %q", code, text)
	}
	close(m.submit)
	if m.heard.Load() {
		t.Error("the job was confirmed: it may run")
	}
}

// TestCancellationThatFails: the master delays a cancellation and then refuses it. The command
// gives up, and reports that the job may continue.
func TestCancellationThatFails(t *testing.T) {
	m := newFakeMaster(t, "cancel")
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address)
	m.await(t, "watch")
	must(t, run.Process.Signal(os.Interrupt))
	m.await(t, "cancel")
	must(t, run.Process.Signal(os.Interrupt))
	close(m.cancel)
	text, code := run.rest()
	if code != 1 ||
		text != `superstep: interrupted: job f00d-1 may go on: the disk\x1b[31m is full`+"\n" {
		t.Errorf("exit status %d, output %q", code, text)
	}
}

// TestTraceOfAnInterruptedJob: the trace of a job cancelled by an interrupt has its end.
func TestTraceOfAnInterruptedJob(t *testing.T) {
	m := newFakeMaster(t)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address,
		"--trace", "trace")
	m.await(t, "watch")
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := run.rest(); code != 1 ||
		text != "superstep: interrupted: job f00d-1 is cancelled\n" {
		t.Errorf("exit status %d, output %q", code, text)
	}
	data, err := os.ReadFile(filepath.Join(run.Dir, "trace"))
	must(t, err)
	var ends []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"kind":"end"`) {
			ends = append(ends, line)
		}
	}
	if len(ends) != 1 || !strings.Contains(ends[0], `"state":"cancelled"`) {
		t.Errorf("found the ends %q in %s", ends, data)
	}
}

// TestJobThatCannotBeWatched: the command still prints the job's id.
func TestJobThatCannotBeWatched(t *testing.T) {
	m := newFakeMaster(t, "watch")
	args := []string{
		"run", "wcc", "-g", "path:vertices=3", "--master", m.address, "--retry-for", "50ms",
	}
	out, err := exec.Command("superstep", append(args, "--detach")...).Output()
	if err != nil || string(out) != "f00d-1\n" {
		t.Errorf("with --detach: found %q, %v", out, err)
	}
	text, code := start(t, nil, "superstep", args...).rest()
	if code != 1 || !strings.Contains(text, "superstep: job f00d-1 may go on: lost the master ") {
		t.Errorf("exit status %d, output %q", code, text)
	}
}

// TestInterruptFetching interrupts a run while it fetches the result of the finished job. The
// result stays in the master, and no incomplete file is left.
func TestInterruptFetching(t *testing.T) {
	m := newFakeMaster(t, "result")
	close(m.finish)
	run := start(t, nil, "superstep", "run", "wcc", "-g", "path:vertices=3", "--master", m.address,
		"-o", "out")
	m.await(t, "result")
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := run.rest(); code != 1 ||
		text != "superstep: interrupted: job f00d-1 is done, superstep result f00d-1 has what it computed\n" {
		t.Errorf("exit status %d, output %q", code, text)
	}
	entries, err := os.ReadDir(run.Dir)
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

// TestInterruptGraphsLoad interrupts the loading of a graph. The graph is removed, and the worker
// can run other commands.
func TestInterruptGraphsLoad(t *testing.T) {
	c := scripts.NewCluster(t, "superstep", 1)
	run := start(t, nil, "superstep", "graphs", "load", "g", "--graph", "kronecker:scale=20",
		"--master", c.Address)
	loading := func() bool {
		out, err := exec.Command("superstep", "graphs", "list", "--master", c.Address).Output()
		return err == nil && strings.Contains(string(out), "loading")
	}
	if !scripts.Soon(loading) {
		t.Fatal("the graph was never loaded")
	}
	must(t, run.Process.Signal(os.Interrupt))
	if text, code := run.rest(); code != 1 ||
		text != "superstep: interrupted: graph g is dropped\n" {
		t.Errorf("exit status %d, output %q", code, text)
	}
	gone := func() bool {
		out, err := exec.Command("superstep", "graphs", "list", "--master", c.Address).Output()
		return err == nil && string(out) == "no graphs\n"
	}
	if !scripts.Soon(gone) {
		t.Error("the graph is not gone")
	}
	if out, err := exec.Command("superstep", "graphs", "load", "g", "--graph", "path:vertices=3",
		"--master", c.Address).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNamesThatAreNoUTF8: for a cluster they are a usage error, reported at once.
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
		run := start(t, map[string]string{bad: ring, "g.el": ring}, "superstep",
			append(args, "--master", m.address)...)
		text, code := run.rest()
		if code != 2 || strings.Count(text, "\n") != 1 || !strings.Contains(text, `\xff`) ||
			!strings.Contains(text, "expected UTF-8") {
			t.Errorf("%q: exit status %d, output %q", args, code, text)
		}
	}
}
