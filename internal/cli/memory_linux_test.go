package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/mem"
)

// memoryGroup makes a control group with a limit of so many bytes, and returns a command that runs another one in it. kills returns how many
// processes the kernel has killed there. Where none can be made the test is skipped.
func memoryGroup(t *testing.T, bytes int64) (run func(words ...string) *exec.Cmd, kills func() int) {
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
		must(t, os.WriteFile(filepath.Join(dir, k.limit), fmt.Append(nil, bytes), 0o644))
		run = func(words ...string) *exec.Cmd {
			return exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(dir, "cgroup.procs")}, words...)...)
		}
		return run, func() int {
			data, err := os.ReadFile(filepath.Join(dir, k.events))
			must(t, err)
			_, rest, _ := strings.Cut(string(data), "oom_kill ")
			n := -1
			_, _ = fmt.Sscan(rest, &n) // -1 is no such line
			return n
		}
	}
	t.Skip("no control group of memory can be made here")
	return nil, nil
}

// starving is what is said of a hub whose program takes memory without an end.
var starving = regexp.MustCompile(`Hungry: vertex 0, of degree 199999: not enough memory: [0-9.]+ MiB are (taken|asked for): of the limit of 192\.0 MiB [0-9.]+ MiB are held \(.*Go's heap [0-9.]+ MiB\)`)

// TestMemoryOfAHub ends a run whose program takes more than the limit: the hub is named, and the kernel kills nothing.
func TestMemoryOfAHub(t *testing.T) {
	words := []string{"own", "run", "hungry", "-q", "--graph", "star:vertices=200000"}
	check := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !starving.Match(out) || strings.Count(string(out), "\n") != 1 {
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

// TestMemoryOfAStar computes in a control group what takes some times its limit.
func TestMemoryOfAStar(t *testing.T) {
	if mem.SpillDir(os.TempDir()) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	words := []string{"superstep", "run", "cdlp", "-q", "--graph", "star:vertices=1000000"}
	result := regexp.MustCompile(`(?m)^(converged after|groups:|aggregator).*$`)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	want := result.FindAllString(string(out), -1)
	if err != nil || len(want) < 3 {
		t.Fatalf("%v: %s", err, out)
	}
	run, kills := memoryGroup(t, 80<<20)
	out, err = run(words...).CombinedOutput()
	if got := result.FindAllString(string(out), -1); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v: %s, expected %s", err, out, want)
	}
	if n := kills(); n != 0 {
		t.Errorf("the kernel killed %d processes", n)
	}
}

// TestMemoryOfAWorker has a worker end for want of memory: its job says why, and the next job has its result.
func TestMemoryOfAWorker(t *testing.T) {
	_, address, _ := startUp(t, "own", "--memory", "192MiB")
	out, err := exec.Command("own", "run", "hungry", "-q", "--graph", "star:vertices=200000", "--master", address, "--workers", "2").CombinedOutput()
	if err == nil || !starving.Match(out) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command("own", "run", "count", "-g", "path:vertices=9", "--master", address, "--workers", "2").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMemoryOfAStarInACluster computes on two workers in a control group each what takes some times their limits: frames and the messages of
// the hub lie in files.
func TestMemoryOfAStarInACluster(t *testing.T) {
	if mem.SpillDir(os.TempDir()) != nil {
		t.Skip("the directory for temporary files is in memory")
	}
	const limit = 112 << 20
	_, address := startMaster(t)
	var workers []*exec.Cmd
	var kills []func() int
	for i := range 2 {
		run, killed := memoryGroup(t, limit)
		w := run("superstep", "worker", "--master", address, "--name", fmt.Sprintf("w%d", i+1), "--threads", "1")
		must(t, w.Start())
		t.Cleanup(func() {
			_ = w.Process.Kill()
			_ = w.Wait()
		})
		workers, kills = append(workers, w), append(kills, killed)
	}
	words := []string{"superstep", "run", "cdlp", "-q", "--graph", "star:vertices=2000000"}
	out, err := exec.Command(words[0], append(words[1:], "--master", address, "--workers", "2")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "groups: 2; the largest, with their sizes: 1 (1999999), 0 (1)\n") || strings.Contains(string(out), "lost") {
		t.Errorf("%v: %s", err, out)
	}
	for i, w := range workers {
		must(t, w.Process.Signal(os.Interrupt))
		_ = w.Wait() // the status is its own matter
		if n := kills[i](); n != 0 {
			t.Errorf("the kernel killed %d processes of w%d", n, i+1)
		}
	}
}
