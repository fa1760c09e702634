package graphio

import (
	"fmt"

	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// admitFrom is how many bytes are asked for before they are taken: to ask costs as much as to
	// fill some of them.
	admitFrom = 1 << 20
	// spare is left for what is not asked for: buffers, and what the garbage collector has not yet
	// given back.
	spare = 32 << 20
)

// admission refuses memory that is not there. The system would kill a process that takes it, a
// worker with all it holds.
type admission struct {
	path string
	free func() int64 // bytes available, 0 if unknown
}

// admit fails when there are not bytes of memory, for what the words say. A nil *admission admits
// everything.
func (a *admission) admit(bytes int64, what string) error {
	if a == nil || bytes < admitFrom {
		return nil
	}
	if free := a.free(); free > 0 && bytes+spare > free {
		return fmt.Errorf("reading %s: %s needs %s of memory and %s to spare, %s are available", a.path, what, mem.Text(bytes), mem.Text(spare), mem.RoomText(free))
	}
	return nil
}

// admission is that of a file.
func (r *reader) admission(f *file) *admission { return &admission{f.path, r.free} }
