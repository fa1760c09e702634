// Package laxgc is imported by test binaries to collect garbage less often: when the heap is nine
// times the live memory, not twice. Tests that build many small graphs and jobs then need a fifth
// less processor time.
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
