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

// Inside reports whether this process is in namespaces made by Enter.
func Inside() bool { return os.Getenv(inside) != "" }

// endWithin is the time that an entered process has to end after it was asked to.
const endWithin = 20 * time.Second

// Command returns a command that runs this program in new namespaces: of the network; of processes,
// so that all its children end with it; and of users, so that root is not needed. When ctx ends,
// the process is asked to end, and later killed. It is also killed when the thread that started it
// ends.
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

// Enter runs this program with the same arguments in new namespaces, and returns its exit status.
func Enter(ctx context.Context) (status int, err error) {
	runtime.LockOSThread() // its end would end the process
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

// Refused returns why such cables cannot be made here, or nil. With args, this program must call
// Try with the same cable.
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

// Try makes a switch and a cable with both ends in this namespace.
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
