package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// TestInterruptedRunsAreSummedUp: an interrupted run prints where its time went; a failed run does
// not.
func TestInterruptedRunsAreSummedUp(t *testing.T) {
	for err, want := range map[error]string{context.Canceled: "superstep: until the interrupt, time: ", errors.New("the disk is full"): ""} {
		var said strings.Builder
		w := &observer{app: &app{err: &said}}
		if e := errors.Join(
			w.meter.Record(&trace.Job{Job: "bfs", Partitions: 1}),
			w.meter.Record(&record.Superstep{Job: "bfs", Partitions: []record.Partition{{Computed: 1, Times: record.Seconds{Compute: 1, Total: 1}}}}),
			w.meter.Record(&trace.End{Job: "bfs", State: trace.Cancelled}),
		); e != nil {
			t.Fatal(e)
		}
		w.interrupted(err)
		if !strings.HasPrefix(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%v: output %q, expected %q", err, said.String(), want)
		}
	}
}
