package engine

import (
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/mem"
)

// processStats measures the process's memory and garbage collection pauses, by superstep.
type processStats struct {
	gc     debug.GCStats
	paused time.Duration // total of the pauses when they were last read
	asked  time.Time
	memory int64
	at     time.Time // when memory was last measured
}

// The intervals of measurements. Reading the resident memory takes as long as a short superstep.
// Reading the pauses takes a fifth of that.
const (
	memoryEvery = 500 * time.Millisecond
	pausesEvery = time.Millisecond
)

// addTo puts the figures into the reports of the process's partitions. Pauses are read at most once
// per pausesEvery, so pauses of short supersteps may be reported with a later one.
func (v *processStats) addTo(reports []*bsp.Report) {
	now, pause := time.Now(), 0.0
	if now.Sub(v.asked) >= pausesEvery {
		debug.ReadGCStats(&v.gc)
		pause = (v.gc.PauseTotal - v.paused).Seconds()
		v.paused, v.asked = v.gc.PauseTotal, now
	}
	if now.Sub(v.at) >= memoryEvery {
		v.memory, v.at = mem.RSS(), now
	}
	for _, p := range reports {
		p.Memory, p.GCPause = v.memory, pause
	}
}
