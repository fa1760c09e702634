package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/control"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
)

// role is the environment variable that makes this binary a worker.
const role = "SUPERSTEP_TEST_CLUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := Serve(context.Background(), os.Stdin, os.Stdout, os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// launched returns a function that starts processes of this binary and records them in all.
func launched(all *[]*exec.Cmd) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.CommandContext(ctx, self, arguments...)
		cmd.Env = append(os.Environ(), role+"=worker")
		*all = append(*all, cmd)
		return cmd, err
	}
}

func haveEnded(t *testing.T, want int, all []*exec.Cmd) {
	t.Helper()
	if len(all) != want {
		t.Errorf("%d processes, expected %d", len(all), want)
	}
	for _, cmd := range all {
		if cmd.ProcessState == nil {
			t.Errorf("process %d is left", cmd.Process.Pid)
		}
	}
}

func TestAnInterruptEndsTheCluster(t *testing.T) {
	var all []*exec.Cmd
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Cluster{Workers: 2, Threads: 1, Command: launched(&all)}
	err := c.Run(ctx, func(ctx context.Context, _ string, _ control.Token) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	haveEnded(t, 2, all)
}

func TestADeadWorkerIsNamed(t *testing.T) {
	var all []*exec.Cmd
	c := Cluster{Workers: 2, Threads: 1, Command: launched(&all)}
	err := c.Run(t.Context(), func(ctx context.Context, _ string, _ control.Token) error {
		if err := all[1].Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || err.Error() != "w2 ended: signal: killed" {
		t.Error(err)
	}
	haveEnded(t, 2, all)
	c.Command = func(ctx context.Context, _ ...string) (*exec.Cmd, error) {
		return exec.CommandContext(ctx, "/nowhere/lab"), nil
	}
	if err := c.Run(t.Context(), nil); err == nil || !strings.HasPrefix(err.Error(), "start w1: ") {
		t.Error(err)
	}
}
