package mem

import (
	"errors"
	"slices"
	"unsafe"
)

// growFast is the size in bytes up to which arrays double when they grow; larger ones grow by a
// quarter.
const growFast = 32 << 20

// Grow returns s with room for n elements more. What is large and without pointers lies in the
// arena, counted and spilled as its other arrays are, and where it lay before is freed: nobody else
// may use it. The rest is on Go's heap, as with slices.Grow, but is refused where the budget has no
// room. It panics with an *[Exhausted] when there is no memory.
func Grow[T any](a *Arena, s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	size := int(unsafe.Sizeof(*new(T)))
	want := max(len(s)+n, min(2*cap(s), cap(s)+cap(s)/4+growFast/max(size, 1)))
	if a == nil {
		return slices.Grow(s, n)
	}
	if want*size < small || !PointerFree[T]() {
		a.budget().ask(a.Kind, int64(want*size))
		return slices.Grow(s, n)
	}
	larger := Make[T](a, want)[:len(s)]
	copy(larger, s)
	Free(a, s)
	return larger
}

// Ask refuses, by a panic of an *[Exhausted], so many bytes of a kind that are about to be taken on
// Go's heap, where they cannot be spilled, if the budget of the process has no room for them. They
// count as a part of the heap, once they are taken.
func Ask(kind string, bytes int64) { Process().ask(kind, bytes) }

func (b *Budget) ask(kind string, bytes int64) {
	if b != nil && bytes >= b.least && !b.fits(bytes) {
		panic(b.refuse(kind, bytes, errOnHeap))
	}
}

var errOnHeap = errors.New("what lies on Go's heap stays in memory")

// SizeOf returns the bytes of a value of T.
func SizeOf[T any]() int { return int(unsafe.Sizeof(*new(T))) }

// Free gives back an array that Make or Grow made, if it is the arena's own; nobody may use it any
// more.
func Free[T any](a *Arena, s []T) {
	if a == nil || cap(s) == 0 {
		return
	}
	start := unsafe.Pointer(unsafe.SliceData(s))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.regions = slices.DeleteFunc(a.regions, func(r region) bool {
		own := unsafe.Pointer(unsafe.SliceData(r.data)) == start // else it is on Go's heap
		if own {
			r.release(a.Kind)
		}
		return own
	})
}

// IsExhausted returns the *[Exhausted] in a value that was recovered, or nil.
func IsExhausted(v any) *Exhausted {
	err, _ := v.(error)
	exhausted, _ := errors.AsType[*Exhausted](err)
	return exhausted
}
