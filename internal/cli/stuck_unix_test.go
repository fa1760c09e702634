//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/cli"
)

// TestNobodyReadsTheLog: standard error is a full pipe without a reader. A master and a worker
// still work and end.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	r, stuck, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer stuck.Close()
	must(t, stuck.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	for block := make([]byte, 4096); err == nil; {
		_, err = stuck.Write(block)
	}
	m, at := startMasterTo(t, stuck)
	w := launchTo(t, stuck, "worker", "--master", at, "--gossip-listen", "off", "--name", "w0",
		"--threads", "1")
	launch(t, "run", "wcc", "--master", at, "--retry-for", "30s", "--workers", "1", "--graph",
		"kronecker:scale=6").ended(0)
	for _, p := range []*process{w, m} {
		must(t, p.Process.Signal(syscall.SIGTERM))
		p.ended(0)
	}
}

// gate is a writer that blocks until it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

// TestDroppedLinesAreCounted: when a reader continues, it gets the kept lines, and the number of
// dropped ones.
func TestDroppedLinesAreCounted(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	stderr, flush := cli.Asynchronous(g)
	const lines = 40_000
	line := strings.Repeat("x", 99) + "\n"
	for range lines {
		if n, err := stderr.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	close(g.open)
	for range 20 { // each waits only for a limited time
		flush()
	}
	kept, dropped := strings.Count(g.String(), line), 0
	// If the writer takes lines after some were dropped, there are two warnings.
	for _, warning := range strings.Split(g.String(), "superstep: ")[1:] {
		n := 0
		if _, err := fmt.Sscanf(warning, "warning: %d lines of the log were dropped", &n); err != nil {
			t.Fatalf("%v: %.200q", err, warning)
		}
		dropped += n
	}
	if kept+dropped != lines || kept < 1000 {
		t.Errorf("%d lines are there and %d dropped, expected %d together", kept, dropped, lines)
	}
}
