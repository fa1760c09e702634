package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ProcessesOf returns the children of a process by their --name flag. The master's name is "".
func ProcessesOf(t *testing.T, parent int) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, dir := range ChildrenOf(t, parent) {
		pid, err := strconv.Atoi(filepath.Base(dir))
		Must(t, err)
		// missing if the process has ended
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
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

// BeginUp begins to start a cluster of two workers with the command up of a binary.
func BeginUp(t *testing.T, binary string, flags ...string) *Member {
	t.Helper()
	p := &Member{Cmd: exec.Command(binary,
		append([]string{"up", "--workers", "2", "--threads", "1", "--listen", "127.0.0.1:0"},
			flags...)...), Said: &Output{}, Ended: make(chan struct{})}
	p.Stdout, p.Stderr = p.Said, p.Said
	Must(t, p.Start())
	go func() {
		_ = p.Wait() // the status is checked elsewhere
		close(p.Ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.Ended
	})
	return p
}

// StartUp starts a cluster of two workers with the command up of a binary. It returns the process,
// the address and the processes of the cluster.
func StartUp(t *testing.T, binary string, flags ...string) (*Member, string, map[string]int) {
	t.Helper()
	p := BeginUp(t, binary, flags...)
	example := regexp.MustCompile(`(?m)^  ` + binary + ` run .* --master (\S+)$`)
	if !Soon(func() bool { return example.MatchString(p.Said.String()) }) {
		t.Fatalf("its output is %q", p.Said)
	}
	all := ProcessesOf(t, p.Process.Pid)
	if len(all) != 3 || all["w1"] == 0 || all["w2"] == 0 {
		t.Fatalf("found the children %v", all)
	}
	return p, example.FindStringSubmatch(p.Said.String())[1], all
}
