package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/superstep-go/superstep/test/scripts"
)

// onTerminal is a command on a pseudo-terminal. The test reads the terminal's display and types on
// it.
type onTerminal struct {
	*exec.Cmd
	t       *testing.T
	display *os.File
	said    *scripts.Output
	ended   chan struct{}
}

// terminalFor starts a command on a new pseudo-terminal, whose Ctrl-C interrupts the command.
func terminalFor(t *testing.T, name string, args ...string) *onTerminal {
	t.Helper()
	display, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = display.Close() })
	must(t, unix.IoctlSetPointerInt(int(display.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(display.Fd()), unix.TIOCGPTN)
	must(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	must(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 24, Col: 80}))
	c := &onTerminal{Cmd: exec.Command(name,
		args...), t: t, display: display, said: &scripts.Output{}, ended: make(chan struct{})}
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, c.Start())
	must(t, program.Close())
	t.Cleanup(func() { _ = c.Process.Kill() })
	go func() {
		defer close(c.ended)
		// it ends with an error when nobody has the terminal open any more
		_, _ = io.Copy(c.said, display)
		_ = c.Wait() // the status is checked elsewhere
	}()
	return c
}

// says waits until the terminal has shown a text this many times.
func (c *onTerminal) says(text string, times int) {
	c.t.Helper()
	if !scripts.Soon(func() bool { return strings.Count(c.said.String(), text) >= times }) {
		c.t.Fatalf("its output is %q, not %q %d times", c.said.String(), text, times)
	}
}

func (c *onTerminal) types(text string) {
	c.t.Helper()
	_, err := c.display.WriteString(text)
	must(c.t, err)
}

// ends checks the exit status and the last text on the terminal.
func (c *onTerminal) ends(code int, text string) {
	c.t.Helper()
	if !scripts.Soon(func() bool {
		select {
		case <-c.ended:
			return true
		default:
			return false
		}
	}) {
		c.t.Fatalf("it did not end; its output is %q", c.said.String())
	}
	said := strings.ReplaceAll(c.said.String(), "\r\n", "\n")
	if got := c.ProcessState.ExitCode(); got != code || !strings.HasSuffix(said, text) {
		c.t.Errorf("exit status %d, output %q, expected %d and %q at the end", got,
			said, code, text)
	}
}

const (
	ctrlC = "\x03"
	quit  = "\x1c" // Ctrl-\
)

// running starts a command whose job runs on a master.
func running(t *testing.T, args ...string) (*fakeMaster, *onTerminal) {
	t.Helper()
	m := newFakeMaster(t)
	c := terminalFor(t, "superstep",
		append([]string{"run", "wcc", "-g", "path:vertices=3", "--master", m.address}, args...)...)
	c.says("running wcc", 1) // the progress display
	return m, c
}

// TestQuitDetaches: Ctrl-\ ends the command. The job continues.
func TestQuitDetaches(t *testing.T) {
	m, c := running(t, "-o", "out")
	c.types(quit)
	c.ends(0,
		"superstep: job f00d-1 goes on: superstep watch f00d-1 shows it, superstep result f00d-1 has what it computes\n")
	select {
	case <-m.stopped:
		t.Error("the job was cancelled")
	default:
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestInterruptCancels: Ctrl-C cancels the job. So does SIGTERM.
func TestInterruptCancels(t *testing.T) {
	m, c := running(t)
	c.types(ctrlC)
	m.await(t, "cancel")
	c.ends(1, "superstep: interrupted: job f00d-1 is cancelled\n")
	m, c = running(t)
	must(t, c.Process.Signal(syscall.SIGTERM))
	m.await(t, "cancel")
	c.ends(1, "superstep: interrupted: job f00d-1 is cancelled\n")
}
