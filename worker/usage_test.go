package worker

import (
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/record"
)

// TestUsage: the processor time grows with work, and waiting is the mean of the partitions.
func TestUsage(t *testing.T) {
	w := &worker{executor: newExecutor(&Config{})}
	busy := func(u *control.Usage) time.Duration {
		return time.Duration(u.ProcessorSeconds * float64(time.Second))
	}
	before := w.usage()
	for start := time.Now(); busy(w.usage())-busy(before) < 20*time.Millisecond; {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("the processor time stays at %v", busy(before))
		}
	}
	report := func(worked float64) *bsp.Report {
		return &bsp.Report{Partition: record.Partition{Times: record.Seconds{Compute: worked, Total: worked}}}
	}
	reports := []*bsp.Report{report(1), report(2)}
	w.waited.add(4, reports)
	w.waited.add(4, nil)
	if s := w.usage().WaitSeconds; s < 2.499 || s > 2.501 { // the mean of 3 and 2
		t.Errorf("waited %g s", s)
	}
	if reports[0].Times.Wait != 0 {
		t.Error("a report was changed")
	}
}
