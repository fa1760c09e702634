package master

import (
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// TestUsageOfAWorker: the usage of the last five minutes is kept, every two seconds.
func TestUsageOfAWorker(t *testing.T) {
	w, now := &worker{}, time.Duration(0)
	w.use(now, &control.Heartbeat{MemoryUsed: 1})
	if len(w.usage) != 0 {
		t.Fatalf("usage that was not reported: %v", w.usage)
	}
	for i := range 1000 {
		now = time.Duration(i) * 500 * time.Millisecond
		w.use(now, &control.Heartbeat{
			MemoryUsed: uint64(i), Budget: &control.Budget{Spilled: 3},
			Usage: &control.Usage{ProcessorSeconds: float64(i), AtSeconds: 9},
		})
	}
	if len(w.usage) != mostUsage {
		t.Fatalf("%d entries", len(w.usage))
	}
	for k, u := range w.usage {
		i := 996 - 4*(mostUsage-1-k) // the reports at multiples of two seconds
		if u.AtSeconds != float64(i)/2 || u.ProcessorSeconds != float64(i) ||
			u.MemoryUsed != uint64(i) || u.Spilled != 3 {
			t.Fatalf("entry %d is %v, expected report %d", k, u, i)
		}
	}
}
