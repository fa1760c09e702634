package nas

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/lab/cluster"
	"go.uber.org/goleak"
)

// role is the environment variable that makes this binary a process of a benchmark.
const role = "SUPERSTEP_TEST_NAS"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "worker":
		if err := cluster.Serve(context.Background(), os.Stdin, os.Stdout, os.Args[1],
			Programs()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// launched returns a function that starts processes of this binary and records them in all. Several
// goroutines may call it.
func launched(what string, all *[]*exec.Cmd) func(context.Context, ...string) (*exec.Cmd, error) {
	var mu sync.Mutex
	return func(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.CommandContext(ctx, self, arguments...)
		cmd.Env = append(os.Environ(), role+"="+what)
		mu.Lock()
		defer mu.Unlock()
		*all = append(*all, cmd)
		return cmd, err
	}
}
