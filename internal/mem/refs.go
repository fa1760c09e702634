package mem

import "sync/atomic"

// Refs counts the users of something that is freed by hand, so that nobody uses freed memory. It
// frees when Close has been called and the last user has called Release. Make it with [NewRefs].
type Refs struct {
	state atomic.Int64 // twice the number of users, plus 1 if closed
	free  func()
}

// NewRefs returns a Refs without users, which will call free once.
func NewRefs(free func()) *Refs { return &Refs{free: free} }

// Acquire makes the caller a user until it calls Release. After Close it does nothing and returns
// false.
func (r *Refs) Acquire() bool {
	for {
		state := r.state.Load()
		if state&1 != 0 {
			return false
		}
		if r.state.CompareAndSwap(state, state+2) {
			return true
		}
	}
}

// Release ends one use. After Close, the last Release calls free.
func (r *Refs) Release() {
	switch state := r.state.Add(-2); {
	case state == 1:
		r.free()
	case state < 0:
		panic("mem: Release without Acquire")
	}
}

// Close makes further calls of Acquire fail. If there are no users, it calls free before it
// returns; otherwise the last user's Release does. Close is idempotent.
func (r *Refs) Close() {
	if state := r.state.Or(1); state == 0 {
		r.free()
	}
}
