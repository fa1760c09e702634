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

// measured returns what the runtime counts.
func measured(name string) int64 {
	sample := [1]metrics.Sample{{Name: name}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}

// limitHeap has Go's collector work harder when the heap comes near so many bytes.
// It returns what the limit was.
func limitHeap(bytes int64) int64 { return debug.SetMemoryLimit(bytes) }

// goLimit returns what GOMEMLIMIT says, or 0.
func goLimit() int64 {
	if n := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && n > 0 && n < math.MaxInt64 {
		return n
	}
	return 0
}
