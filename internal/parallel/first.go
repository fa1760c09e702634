package parallel

import (
	"sync"
	"sync/atomic"
)

// First keeps the error at the least position of a parallel loop, so that the error does not depend
// on timing. The zero value has no error. Several goroutines may call its methods at once.
type First struct {
	mu  sync.Mutex
	end atomic.Int64 // position of the error plus 1, or 0
	err error
}

// Before reports whether there is an error at a position before at, so that work there is useless.
func (f *First) Before(at int) bool {
	end := f.end.Load()
	return end > 0 && int64(at) >= end
}

// Report records an error at a position.
func (f *First) Report(at int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || int64(at) < f.end.Load()-1 {
		f.end.Store(int64(at) + 1)
		f.err = err
	}
}

// Err returns the error. It is called after the loop.
func (f *First) Err() error { return f.err }
