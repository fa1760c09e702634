package mem

import "sync/atomic"

// Refs counts the users of something whose memory is freed by hand, so that nobody uses memory that
// is free: it is freed when it was closed and its last user has released it. Make it with
// [NewRefs].
type Refs struct {
	state atomic.Int64 // twice the number of users, and 1 more once closed
	free  func()
}

// NewRefs returns a count without users of what free frees.
func NewRefs(free func()) *Refs { return &Refs{free: free} }

// Acquire makes the caller a user until it calls Release, and reports false, and does nothing, once
// Close was called.
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

// Release ends one use. The last one frees, when Close was called.
func (r *Refs) Release() {
	switch state := r.state.Add(-2); {
	case state == 1:
		r.free()
	case state < 0:
		panic("mem: Release without Acquire")
	}
}

// Close lets nobody acquire any more, and frees as soon as there are no users: before it returns,
// if there are none. It is idempotent.
func (r *Refs) Close() {
	if state := r.state.Or(1); state == 0 {
		r.free()
	}
}
