package wire

import (
	"sync/atomic"
	"unsafe"
)

// Load reads a number that another goroutine may Store at the same time. A float lies in memory as
// an integer of its size does, and is aligned alike.
func Load[W float32 | float64](from *W) W {
	if unsafe.Sizeof(*from) == 4 {
		x := atomic.LoadUint32((*uint32)(unsafe.Pointer(from)))
		return *(*W)(unsafe.Pointer(&x))
	}
	x := atomic.LoadUint64((*uint64)(unsafe.Pointer(from)))
	return *(*W)(unsafe.Pointer(&x))
}

// Store writes a number that others may Load at the same time.
func Store[W float32 | float64](to *W, value W) {
	if unsafe.Sizeof(value) == 4 {
		atomic.StoreUint32((*uint32)(unsafe.Pointer(to)), *(*uint32)(unsafe.Pointer(&value)))
		return
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(to)), *(*uint64)(unsafe.Pointer(&value)))
}
