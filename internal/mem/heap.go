package mem

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// heapBytes returns what objects on Go's heap take, those that are no longer used and were not yet collected included.
func heapBytes() int64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}

// liveBytes returns what objects on Go's heap took that the last collection has found in use.
func liveBytes() int64 {
	sample := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}

// limitHeap has Go's collector work harder when the heap comes near so many bytes.
// It returns what the limit was.
func limitHeap(bytes int64) int64 { return debug.SetMemoryLimit(bytes) }

// goLimit returns what GOMEMLIMIT says, or 0.
func goLimit() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		return 0
	}
	if n := debug.SetMemoryLimit(-1); n > 0 && n < math.MaxInt64 {
		return n
	}
	return 0
}
