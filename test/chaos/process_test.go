//go:build linux

package chaos_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is the master or a worker. A restarted process has the same name.
type process struct {
	*cluster
	name string
	args []string

	cmd    *exec.Cmd
	said   *text
	ended  chan struct{}
	killed bool // by this test
}

// text is a process's output.
type text struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *text) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *text) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// last returns the last n lines of a text.
func last(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

func (p *process) start() {
	p.cmd = exec.Command(binary, p.args...)
	if p.store.own && p != p.master { // with its own files in place of shared ones
		const own = `mount --bind "$1" "$2" && shift 2 && exec "$@"`
		args := []string{"-m", "sh", "-c", own, "sh", p.root(p.name), p.shared(), binary}
		p.cmd = exec.Command("unshare", append(args, p.args...)...)
	}
	p.cmd.Env = p.env
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.said, p.ended, p.killed = &text{}, make(chan struct{}), false
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd, ended := p.cmd, p.ended
	go func() {
		_ = cmd.Wait() // the status is checked elsewhere
		close(ended)
	}()
}

// running reports whether the process is running.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// kill kills the process with SIGKILL.
func (p *process) kill() {
	p.killed = true
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// stop asks the process to end. It fails the test unless the process ends in time with status 0.
func (p *process) stop(t *testing.T, within time.Duration) {
	p.killed = true
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s ended with status %d after SIGTERM: %s", p.name, code,
				last(p.said.String(), 5))
		}
	case <-time.After(within):
		t.Errorf("%s has not ended %v after SIGTERM: %s", p.name, within, last(p.said.String(), 5))
		p.stacks()
		p.kill()
	}
}

// stacks ends a process with SIGQUIT and shows its goroutines' stacks.
func (p *process) stacks() {
	p.killed = true
	p.signal(syscall.SIGQUIT)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
	path := filepath.Join(p.dir, p.name+".stacks")
	if err := os.WriteFile(path, []byte(p.said.String()), 0o600); err == nil {
		p.t.Logf("the output of %s, with its stacks, is in %s", p.name, path)
	}
}

// holdings are the resources of a process.
type holdings struct {
	pid, files, threads int
	resident            int64 // bytes
}

func (h holdings) String() string {
	return fmt.Sprintf("process %d: %d descriptors, %d threads, %.1f MiB", h.pid, h.files,
		h.threads, float64(h.resident)/(1<<20))
}

// holds reads the resources from /proc.
func (p *process) holds() (holdings, error) {
	h := holdings{pid: p.cmd.Process.Pid}
	dir := fmt.Sprintf("/proc/%d/", h.pid)
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return h, err
	}
	h.files = len(files)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "Threads:":
			h.threads, err = strconv.Atoi(f[1])
		case f[0] == "VmRSS:":
			h.resident, err = strconv.ParseInt(f[1], 10, 64)
			h.resident <<= 10
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// left returns the running processes of the binary.
func left() []string {
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, link := range all {
		if to, err := os.Readlink(link); err == nil &&
			strings.TrimSuffix(to, " (deleted)") == binary {
			found = append(found, filepath.Base(filepath.Dir(link)))
		}
	}
	return found
}
