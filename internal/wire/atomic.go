package wire

import (
	"sync/atomic"
	"unsafe"
)

// Load reads a number atomically, while another goroutine may Store it. A float has the size and
// alignment of an integer.
func Load[W float32 | float64](from *W) W {
	if unsafe.Sizeof(*from) == 4 {
		x := atomic.LoadUint32((*uint32)(unsafe.Pointer(from)))
		return *(*W)(unsafe.Pointer(&x))
	}
	x := atomic.LoadUint64((*uint64)(unsafe.Pointer(from)))
	return *(*W)(unsafe.Pointer(&x))
}

// Store writes a number atomically, while other goroutines may Load it.
func Store[W float32 | float64](to *W, value W) {
	if unsafe.Sizeof(value) == 4 {
		atomic.StoreUint32((*uint32)(unsafe.Pointer(to)), *(*uint32)(unsafe.Pointer(&value)))
		return
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(to)), *(*uint64)(unsafe.Pointer(&value)))
}
