package mem

import "runtime/metrics"

// Metrics of Go's runtime for objects on the heap: the bytes of all objects, including unused ones
// that were not collected yet, and the bytes that the last collection found in use.
const (
	heapBytes = "/memory/classes/heap/objects:bytes"
	liveBytes = "/gc/heap/live:bytes"
)

// measured returns a metric of the runtime. It returns 0 for a budget that is not the process's,
// such as one of a test.
func (b *Budget) measured(name string) int64 {
	if !b.process {
		return 0
	}
	sample := [1]metrics.Sample{{Name: name}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}
