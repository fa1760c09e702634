// Package laxgc has a test binary that imports it collect garbage when the heap is 17 times as large
// as what lives, not twice, up to a GiB: tests that build many small graphs and jobs take a quarter
// less of the processor so. It is for tests alone.
package laxgc

import (
	"os"
	"runtime/debug"
)

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1600)
		debug.SetMemoryLimit(1 << 30)
	}
}
