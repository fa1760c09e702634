package worker

import (
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
)

// waited is the time for which this worker's partitions waited for others, in nanoseconds.
type waited struct{ atomic.Int64 }

// add adds the mean wait of the partitions in a superstep that took seconds on all workers.
func (w *waited) add(seconds float64, reports []*bsp.Report) {
	sum := 0.0
	for _, r := range reports {
		times := r.Times
		times.End(seconds)
		sum += times.Wait
	}
	w.Add(int64(sum / float64(max(len(reports), 1)) * float64(time.Second)))
}

// usage returns what the process has used since it started.
func (w *worker) usage() *control.Usage {
	collection := [1]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(collection[:])
	stats := w.Stats()
	return &control.Usage{
		ProcessorSeconds: processorTime().Seconds(), CollectionSeconds: collection[0].Value.Float64(),
		WaitSeconds: time.Duration(w.waited.Load()).Seconds(),
		SentBytes:   stats.BytesOut, ReceivedBytes: stats.BytesIn,
	}
}
