package graphio

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// admitFrom is the size of the smallest allocation that is checked. A check takes about as long
	// as filling a part of it.
	admitFrom = 1 << 20
	// spare is left for memory that is not checked: buffers, and memory that the garbage collector
	// has not yet returned.
	spare = 32 << 20
)

// admission refuses an allocation that exceeds the available memory. Without it the system would
// kill the process, and a worker would lose all its graphs.
type admission struct {
	work string       // reading or writing, and the file
	free func() int64 // bytes available, 0 if unknown
}

// admit panics with a *mem.Exhausted, as mem.Make does, unless this number of bytes is available,
// and spare in addition. It does not check less than admitFrom bytes. what describes the purpose of
// the memory. A nil *admission admits everything.
func (a *admission) admit(bytes int64, what string) {
	if a == nil || bytes < admitFrom {
		return
	}
	if free := a.free(); free > 0 && bytes+spare > free {
		panic(&mem.Exhausted{Budget: true, Err: fmt.Errorf(
			"%s: %s needs %s of memory and %s to spare, %s are available", a.work, what,
			mem.Text(bytes), mem.Text(spare), mem.RoomText(free))})
	}
}

// admission returns the admission for a file.
func (r *reader) admission(f *file) *admission { return &admission{"reading " + f.path, r.free} }
