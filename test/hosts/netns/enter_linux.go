package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// inside is set in processes that Enter has started.
const inside = "SUPERSTEP_NETNS"

// Inside reports whether this process is in namespaces that Enter has made.
func Inside() bool { return os.Getenv(inside) != "" }

// endWithin is how long what was entered may take to end when it is told to.
const endWithin = 20 * time.Second

// Command makes a process of this program, in namespaces of its own: of the network; of processes,
// so that all that it starts is gone when it is; and of users, so that this needs no root. When ctx
// ends it is told so, and killed if it does not end; it is killed with the thread that starts it,
// too.
func Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endWithin
	return cmd, nil
}

// Enter runs this program with the same arguments in namespaces, and returns its exit status.
func Enter(ctx context.Context) (status int, err error) {
	runtime.LockOSThread() // whose end would end it
	defer runtime.UnlockOSThread()
	cmd, err := Command(ctx, os.Args[1:]...)
	if err != nil {
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Refused returns why there can be no namespaces here with such cables, nil if there can. args are
// those with which this program calls Try of the same cable.
func Refused(ctx context.Context, args ...string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("the program %s is missing (Debian's iproute2)", name)
		}
	}
	cmd, err := Command(ctx, args...)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) > 0 {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return err
}

// Try makes a switch and a cable, of which both ends are here.
func Try(c Cable) error {
	h, err := NewHub(c)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Plug(0, os.Getpid()); err != nil {
		return err
	}
	return bound(device, h.End(0).Rate)
}
