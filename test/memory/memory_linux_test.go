// Package memory runs jobs with less memory than they would normally use.
package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/test/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m, nil) }

// memoryGroup makes a control group with a memory limit, and returns a function that makes commands
// run in it. kills returns the number of processes that the kernel has killed there. The test is
// skipped if control groups cannot be made.
func memoryGroup(
	t *testing.T, bytes int64,
) (run func(words ...string) *exec.Cmd, kills func() int) {
	t.Helper()
	for _, k := range []struct{ root, limit, events string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"},
		{"/sys/fs/cgroup", "memory.max", "memory.events"},
	} {
		dir, err := os.MkdirTemp(k.root, "superstep-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		if _, err := os.Stat(filepath.Join(dir, k.limit)); err != nil {
			continue
		}
		scripts.Must(t, os.WriteFile(filepath.Join(dir, k.limit), fmt.Append(nil, bytes), 0o644))
		run = func(words ...string) *exec.Cmd {
			return exec.Command("sh",
				append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(dir,
					"cgroup.procs")}, words...)...)
		}
		return run, func() int {
			data, err := os.ReadFile(filepath.Join(dir, k.events))
			scripts.Must(t, err)
			_, rest, _ := strings.Cut(string(data), "oom_kill ")
			n := -1
			_, _ = fmt.Sscan(rest, &n) // -1 if there is no such line
			return n
		}
	}
	t.Skip("no control group of memory can be made here")
	return nil, nil
}

// starving matches the error of a hub whose program allocates without end.
var starving = regexp.MustCompile(`Hungry: vertex 0, of degree 199999: not enough memory: [0-9.]+ MiB are (taken|requested): [0-9.]+ MiB of the limit of 192\.0 MiB are held \(.*Go's heap [0-9.]+ MiB\)`)

// TestMemoryOfAHub: a run whose program exceeds the limit ends with an error that names the hub.
// The kernel kills nothing.
func TestMemoryOfAHub(t *testing.T) {
	words := []string{"own", "run", "hungry", "-q", "--graph", "star:vertices=200000"}
	check := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !starving.Match(out) ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %s", err, out)
		}
	}
	t.Run("budget", func(t *testing.T) {
		check(t, exec.Command(words[0], append(words[1:], "--memory", "192MiB")...))
	})
	t.Run("group", func(t *testing.T) {
		run, kills := memoryGroup(t, 192<<20)
		check(t, run(words...))
		if n := kills(); n != 0 {
			t.Errorf("the kernel killed %d processes", n)
		}
	})
}

// TestMemoryOfAStar computes in a control group although the data exceed its limit several times.
func TestMemoryOfAStar(t *testing.T) {
	if mem.SpillDir(os.TempDir()) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	words := []string{"superstep", "run", "cdlp", "--graph", "star:vertices=1000000"}
	result := regexp.MustCompile(`(?m)^(ended by its iterations after|groups:|aggregator).*$`)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	want := result.FindAllString(string(out), -1)
	if err != nil || len(want) < 3 {
		t.Fatalf("%v: %s", err, out)
	}
	run, kills := memoryGroup(t, 80<<20)
	out, err = run(words...).CombinedOutput()
	if got := result.FindAllString(string(out), -1); err != nil ||
		strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v: %s, expected %s", err, out, want)
	}
	if n := kills(); n != 0 {
		t.Errorf("the kernel killed %d processes", n)
	}
}

// TestMemoryOfAWorker: a worker exits because it needs too much memory. Its job has this reason,
// and the next job succeeds.
func TestMemoryOfAWorker(t *testing.T) {
	_, address, _ := scripts.StartUp(t, "own", "--memory", "192MiB")
	out, err := exec.Command("own", "run", "hungry", "-q", "--graph", "star:vertices=200000",
		"--master", address, "--workers", "2").CombinedOutput()
	if err == nil || !starving.Match(out) || strings.Contains(string(out), "begins again") ||
		!strings.Contains(string(out), "no other worker has more memory free") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command("own", "run", "count", "-g", "path:vertices=9", "--master", address,
		"--workers", "2").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMemoryOfNames: a table whose names exceed the limit is refused with the sizes, in one process
// and on a cluster.
func TestMemoryOfNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names.csv")
	f, err := os.Create(path)
	scripts.Must(t, err)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "from,to")
	for i := range 600_000 {
		fmt.Fprintf(w,
			"a name of a vertex that is somewhat long: it has number %d,another one that is as long as the first or longer: number %d\n", i*7919%600_000, i)
	}
	scripts.Must(t, w.Flush())
	scripts.Must(t, f.Close())
	words := []string{"run", "wcc", "-q", "--graph", path}
	// The names have taken the memory. More memory for them, or for the next edges, is refused.
	refused := regexp.MustCompile(`not enough memory: [0-9.]+ MiB are requested for [a-z ]*names[a-z ]*: [0-9.]+ MiB of the limit of 80\.0 MiB are held|reading .*names.csv: .* needs [0-9.]+ MiB of memory and .* to spare, .* are available`)
	out, err := exec.Command("superstep", append(words, "--memory", "80MiB", "--spill",
		"off")...).CombinedOutput()
	if err == nil || !refused.Match(out) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}
	_, address, _ := scripts.StartUp(t, "superstep", "--memory", "80MiB", "--spill", "off",
		"--data-root", os.TempDir())
	out, err = exec.Command("superstep", append(words, "--master", address, "--workers",
		"2")...).CombinedOutput()
	if err == nil || !refused.Match(out) {
		t.Errorf("on a cluster: %v: %s", err, out)
	}
	if out, err := exec.Command("superstep", "run", "wcc", "-g", "path:vertices=9", "--master",
		address, "--workers", "2").CombinedOutput(); err != nil {
		t.Errorf("the next job: %v: %s", err, out)
	}
}

// groupedWorkers is a cluster of two workers in separate control groups.
type groupedWorkers struct {
	address string
	workers []*exec.Cmd
	kills   []func() int
}

// workersInGroups starts a cluster of a binary. Each worker has a memory limit.
func workersInGroups(t *testing.T, binary string, limit int64) *groupedWorkers {
	t.Helper()
	if mem.SpillDir(os.TempDir()) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	// On a busy machine, a worker that waits for the disk may be silent for some seconds.
	m := exec.Command(binary, "master", "--listen", "127.0.0.1:0", "--gossip-listen", "off",
		"--lease", "30s")
	out, err := m.StdoutPipe()
	scripts.Must(t, err)
	scripts.Must(t, m.Start())
	t.Cleanup(func() {
		_ = m.Process.Kill()
		_ = m.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	scripts.Must(t, err)
	_, line, _ = strings.Cut(line, "master at ")
	address, _, ok := strings.Cut(line, ";")
	if !ok {
		t.Fatalf("found %q", line)
	}
	g := &groupedWorkers{address: address}
	for i := range 2 {
		run, killed := memoryGroup(t, limit)
		w := run(binary, "worker", "--master", address, "--name", fmt.Sprintf("w%d", i+1),
			"--threads", "1", "--data-root", os.TempDir())
		scripts.Must(t, w.Start())
		t.Cleanup(func() {
			_ = w.Process.Kill()
			_ = w.Wait()
		})
		g.workers, g.kills = append(g.workers, w), append(g.kills, killed)
	}
	return g
}

// run runs a command on both workers.
func (g *groupedWorkers) run(words ...string) (string, error) {
	out, err := exec.Command(words[0], append(words[1:], "--master", g.address, "--workers",
		"2")...).CombinedOutput()
	return string(out), err
}

// anonymous returns the largest anonymous memory of a worker process, in bytes.
func (g *groupedWorkers) anonymous(t *testing.T) (most int64) {
	t.Helper()
	for _, w := range g.workers {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Process.Pid))
		scripts.Must(t, err)
		_, rest, _ := strings.Cut(string(data), "RssAnon:")
		n := int64(0)
		_, _ = fmt.Sscan(rest, &n)
		most = max(most, n<<10)
	}
	return most
}

// end stops the workers. It checks that none was killed or replaced.
func (g *groupedWorkers) end(t *testing.T) {
	t.Helper()
	for i, w := range g.workers {
		if err := w.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("w%d: %v", i+1, err)
		}
		_ = w.Wait() // the status is not checked
		if n := g.kills[i](); n != 0 {
			t.Errorf("the kernel killed %d processes of w%d", n, i+1)
		}
	}
}

// TestMemoryOfAStarInACluster computes on two workers in control groups although the data exceed
// their limits several times. Frames and the hub's messages are in files.
func TestMemoryOfAStarInACluster(t *testing.T) {
	g := workersInGroups(t, "superstep", 112<<20)
	out, err := g.run("superstep", "run", "cdlp", "--graph", "star:vertices=2000000")
	if err != nil ||
		!strings.Contains(out, "groups: 2; the largest, with their sizes: 1 (1999999), 0 (1)\n") ||
		strings.Contains(out, "lost") {
		t.Errorf("%v: %s", err, out)
	}
	g.end(t)
}

// TestMemoryOfAllToAll: every vertex sends all over the graph, on two workers with 64 MiB each.
// SUPERSTEP_MEMORY_SOAK is the time to repeat this with more vertices, without it once. The values
// equal those of a run with enough memory, no process exceeds its budget, and no worker is lost.
func TestMemoryOfAllToAll(t *testing.T) {
	const limit = 64 << 20
	vertices := 65_000
	if os.Getenv("SUPERSTEP_MEMORY_SOAK") != "" {
		vertices = 100_000
	}
	words := []string{
		"own", "run", "everywhere", "-q", "--graph", fmt.Sprint("path:vertices=", vertices),
		"-p", "rounds=2",
	}
	dir := t.TempDir()
	want, got := filepath.Join(dir, "want"), filepath.Join(dir, "got")
	if out, err := exec.Command(words[0],
		append(words[1:], "--output", want)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	expected, err := os.ReadFile(want)
	scripts.Must(t, err)
	long, _ := time.ParseDuration(os.Getenv("SUPERSTEP_MEMORY_SOAK")) // once if it is not set
	g := workersInGroups(t, "own", limit)
	began, runs, most := time.Now(), 0, int64(0)
	for runs == 0 || time.Since(began) < long {
		done := make(chan error, 1)
		go func() {
			out, err := g.run(append(words, "--output", got)...)
			if err != nil || strings.Contains(out, "lost") {
				err = fmt.Errorf("run %d: %w: %s", runs+1, err, out)
			}
			done <- err
		}()
		look := time.NewTicker(50 * time.Millisecond)
		for running := true; running; {
			select {
			case err := <-done:
				running = false
				if err != nil {
					t.Fatal(err)
				}
			case <-look.C:
				most = max(most, g.anonymous(t))
			}
		}
		look.Stop()
		found, err := os.ReadFile(got)
		if scripts.Must(t, err); !bytes.Equal(found, expected) {
			t.Fatalf("run %d has other values", runs+1)
		}
		runs++
	}
	if most > limit {
		t.Errorf("a process took %s", mem.Text(most))
	}
	t.Logf("%d runs in %v; a process took %s at most that is no file's, of %s", runs,
		time.Since(began).Round(time.Second), mem.Text(most), mem.Text(limit))
	g.end(t)
}
