package mem

import (
	"errors"
	"slices"
	"unsafe"
)

// growFast is the size in bytes up to which arrays double when they grow. Larger arrays grow by a
// quarter.
const growFast = 32 << 20

// Grow returns s with room for n more elements. A large array without pointers is in the arena, and
// the budget counts and spills it like others. Its old array is freed and must not be used. Other
// arrays are on Go's heap, as with slices.Grow, but the budget may refuse them. Grow panics with an
// *[Exhausted] if there is no memory.
func Grow[T any](a *Arena, s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	size := int(unsafe.Sizeof(*new(T)))
	want := max(len(s)+n, min(2*cap(s), cap(s)+cap(s)/4+growFast/max(size, 1)))
	if a == nil {
		return slices.Grow(s, n)
	}
	if want*size < minMap || !PointerFree[T]() {
		a.budget().ask(a.Kind, int64(want*size))
		return slices.Grow(s, n)
	}
	larger := Make[T](a, want)[:len(s)]
	copy(larger, s)
	Free(a, s)
	return larger
}

// Ask panics with an *[Exhausted] if the process's budget has no room for an allocation on Go's
// heap, which cannot be spilled. The caller then makes the allocation, which counts as a part of
// the heap.
func Ask(kind string, bytes int64) { Process().ask(kind, bytes) }

func (b *Budget) ask(kind string, bytes int64) {
	if b != nil && bytes >= b.least && !b.fits(bytes) {
		panic(b.refuse(kind, bytes, errOnHeap))
	}
}

var errOnHeap = errors.New("the heap of Go cannot be spilled")

// SizeOf returns the bytes of a value of T.
func SizeOf[T any]() int { return int(unsafe.Sizeof(*new(T))) }

// Free frees an array of Make or Grow, if it belongs to the arena. The array must not be used
// afterwards.
func Free[T any](a *Arena, s []T) {
	if a == nil || cap(s) == 0 {
		return
	}
	start := unsafe.Pointer(unsafe.SliceData(s))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.regions = slices.DeleteFunc(a.regions, func(r region) bool {
		own := r.begins(start) // otherwise it is on Go's heap
		if own {
			r.release(a.Kind)
		}
		return own
	})
}

// IsExhausted returns the *[Exhausted] in a recovered value, or nil.
func IsExhausted(v any) *Exhausted {
	err, _ := v.(error)
	exhausted, _ := errors.AsType[*Exhausted](err)
	return exhausted
}
