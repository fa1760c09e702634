package testcluster

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// waits sums up the waiting times of a worker's partitions, as metrics do.
type waits struct {
	observer
	mu      sync.Mutex
	seconds float64
}

func (w *waits) Superstep(seconds float64, reports []*bsp.Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range reports {
		times := r.Times
		times.End(seconds)
		w.seconds += times.Wait
	}
}

// TestWaitingIsCountedWhereItIs: one of three workers is slow. The waiting times are in the metrics
// of the other workers, as in the records.
func TestWaitingIsCountedWhereItIs(t *testing.T) {
	var ring strings.Builder
	for i := range 30 {
		fmt.Fprintln(&ring, i, (i+1)%30)
	}
	input := filepath.Join(t.TempDir(), "ring.txt")
	if err := os.WriteFile(input, []byte(ring.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Start(t, 0, master.Config{},
		engine.Register("slow", pregel.Erase(laboring{10, true, new(atomic.Bool)})))
	var all [3]*waits
	for i := range all {
		all[i] = &waits{}
		c.Worker.Observe = all[i]
		c.StartWorker(fmt.Sprint("w", i))
		c.Await(i + 1)
	}
	recorded := map[string]float64{}
	j, _ := c.watch(t,
		c.submitSpec(t,
			&job.Spec{Program: "slow", Source: &job.Source{Input: input, Directed: new(bool)}}).Id,
		func(e *control.JobEvent) {
			for _, p := range stepOf(t, e).Partitions {
				recorded[p.Worker] += p.Times.Wait
			}
		})
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatal(j)
	}
	for i, w := range all {
		name := fmt.Sprint("w", i)
		w.mu.Lock()
		if want := recorded[name]; math.Abs(w.seconds-want) > 1e-6 {
			t.Errorf("%s waited for %.2f s by its metrics, %.2f s by the records", name, w.seconds,
				want)
		}
		w.mu.Unlock()
	}
	if recorded["w0"] < .3 {
		t.Errorf("w0 waited for only %.2f s of a slow worker", recorded["w0"])
	}
}
