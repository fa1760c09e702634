// Package laxgc has a test binary that imports it collect garbage when the heap is nine times as
// large as what lives, not twice: tests that build many small graphs and jobs take a fifth less of
// the processor so. It is for tests alone.
package laxgc

import (
	"os"
	"runtime/debug"
)

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
