package mem

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// What Go's runtime counts of objects on the heap: their bytes, with those that are no longer used
// and were not yet collected, and those that the last collection has found in use.
const (
	heapBytes = "/memory/classes/heap/objects:bytes"
	liveBytes = "/gc/heap/live:bytes"
)

// measured returns what the runtime counts. The budget of a test has no part in it.
func (b *Budget) measured(name string) int64 {
	if !b.process {
		return 0
	}
	sample := [1]metrics.Sample{{Name: name}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}

// goLimit returns what GOMEMLIMIT says, or 0.
func goLimit() int64 {
	if n := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && n > 0 && n < math.MaxInt64 {
		return n
	}
	return 0
}
