package engine

import (
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/mem"
)

// vitals measures what a superstep did to the process.
type vitals struct {
	gc     debug.GCStats
	paused time.Duration // by the garbage collector, until it was last asked
	asked  time.Time
	memory int64
	at     time.Time // when memory was measured
}

// How old figures of the process may be: to ask for resident memory takes as long as a short superstep, and to ask
// for pauses a fifth of that.
const (
	memoryEvery = 500 * time.Millisecond
	pausesEvery = time.Millisecond
)

// begin forgets the pauses so far.
func (v *vitals) begin() {
	debug.ReadGCStats(&v.gc)
	v.paused, v.asked = v.gc.PauseTotal, time.Now()
}

// note puts the process's figures into the reports of its partitions. A pause of a superstep that ended when it was too
// early to ask is told with the next.
func (v *vitals) note(reports []*bsp.Report) {
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
