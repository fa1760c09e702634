//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupted is a command that runs in its own directory until a signal ends it.
type interrupted struct {
	*exec.Cmd
	t      *testing.T
	stderr io.ReadCloser
}

func start(t *testing.T, files map[string]string, name string, args ...string) *interrupted {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c := &interrupted{Cmd: exec.CommandContext(ctx, name, args...), t: t}
	c.Dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(c.Dir, name)
		if text == "pipe" {
			must(t, syscall.Mkfifo(path, 0o600))
		} else {
			must(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	var err error
	c.stderr, err = c.StderrPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ends checks that the interrupted command ends correctly and leaves only the given files.
func (c *interrupted) ends(files ...string) {
	c.t.Helper()
	begun := time.Now()
	text, err := io.ReadAll(c.stderr)
	must(c.t, err)
	_ = c.Wait() // the status is checked below
	if code := c.ProcessState.ExitCode(); code != 1 {
		c.t.Errorf("exit status %d, want 1", code)
	}
	if !strings.HasSuffix(string(text), "superstep: interrupted\n") {
		c.t.Errorf("output %q", text)
	}
	if took := time.Since(begun); took > time.Minute { // the machine may be busy
		c.t.Errorf("ended after %v", took)
	}
	var left []string
	entries, err := os.ReadDir(c.Dir)
	must(c.t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, files) {
		c.t.Errorf("left %v, want %v", left, files)
	}
}

// says waits until the command has printed a text.
func (c *interrupted) says(text string) {
	c.t.Helper()
	lines := bufio.NewReaderSize(c.stderr, 16)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			c.t.Fatalf("its output has no %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

const ring = "10 20\n20 30\n30 10\n"

func TestInterruptWhileReading(t *testing.T) {
	for _, args := range [][]string{{"run", "wcc", "-o", "out", "-g"}, {"info"}, {"convert", "-q", "--to", "mtx", "--threads", "2"}} {
		args = append(args, "g.el")
		if args[0] == "convert" {
			args = append(args, "out")
		}
		c := start(t, map[string]string{"g.el": "pipe"}, "superstep", args...)
		f, err := os.OpenFile(filepath.Join(c.Dir, "g.el"), os.O_WRONLY, 0) // waits for a reader
		must(t, err)
		_, err = f.WriteString(ring)
		must(t, err)
		must(t, c.Process.Signal(os.Interrupt))
		c.ends("g.el")
		must(t, f.Close())
	}
}

func TestInterruptInSupersteps(t *testing.T) {
	for _, workers := range []string{"1", "3"} {
		c := start(t, map[string]string{"g.el": ring}, "own", "run", "forever", "-g", "g.el", "-o",
			"out", "--json", "report", "--partitions", workers)
		c.says("here")
		must(t, c.Process.Signal(syscall.SIGTERM))
		c.ends("g.el")
	}
}

func TestSecondInterruptKills(t *testing.T) {
	if signal.Ignored(os.Interrupt) {
		t.Skip("SIGINT is ignored here, as in a job that a script runs beside it")
	}
	c := start(t, map[string]string{"g.el": ring}, "own", "run", "stuck", "-g", "g.el")
	c.says("here")
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c.stderr)
		_ = c.Wait() // the status is checked below
	}()
	for {
		select {
		case <-again.C:
			_ = c.Process.Signal(os.Interrupt) // it may have ended
		case <-ended:
			if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok ||
				s.Signal() != syscall.SIGINT {
				t.Errorf("ended with %v", c.ProcessState)
			}
			return
		}
	}
}

// TestInterruptWhileMeasuring interrupts netbench after its ranks are connected.
func TestInterruptWhileMeasuring(t *testing.T) {
	c := start(t, nil, "superstep", "netbench", "--workers", "2", "--repetitions", "1000000",
		"--json", "report", "--svg", "figure")
	files := fmt.Sprintf("/proc/%d/fd", c.Process.Pid)
	if _, err := os.Stat(files); err != nil {
		t.Skipf("no list of connections: %v", err)
	}
	until(t, "the ranks to be connected", func() bool {
		sockets := 0
		open, _ := os.ReadDir(files)
		for _, f := range open {
			if to, _ := os.Readlink(filepath.Join(files, f.Name())); strings.HasPrefix(to, "socket:") {
				sockets++
			}
		}
		return sockets > 1
	})
	must(t, c.Process.Signal(os.Interrupt))
	c.ends()
}
