package experiment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/model"
	"go.uber.org/goleak"
)

// role is the environment variable that makes this binary a worker.
const role = "SUPERSTEP_TEST_EXPERIMENT"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		if err := cluster.Serve(context.Background(), os.Stdin, os.Stdout, os.Args[1], nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// workers starts workers of this binary.
func workers(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, arguments...)
	cmd.Env = append(os.Environ(), role+"=worker")
	return cmd, err
}

// speed is the speed of a machine for predictions of tests.
var speed = &Speed{
	model.Rates{Push: 2e-9, Probe: 1e-9, Row: 2e-9, Word: 1e-9, Value: 1e-9},
	model.Waiting{Contention: 0.01, Skew: 1},
}

// alone skips a test in short runs, such as those under the race detector: one goroutine runs the
// engine, the mesh or collectives, whose own tests run under the race detector.
func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector watches the tests of what it calls")
	}
}
