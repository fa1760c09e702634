// Package mem has the large arrays of graphs and runs. The arrays are zeroed, contain no pointers,
// and are outside the Go heap, on huge pages if the system supports them. So the garbage collector
// neither scans nor counts them. (This holds for Linux. On other systems arrays are on the Go
// heap.)
//
// Arrays belong to an [Arena] and are freed when it is closed. An arena must stay open while slices
// of its arrays are used. Read mem.go first, then budget.go, which limits the memory of a process.
package mem

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"sync"
	"unsafe"
)

// hugePage is the size of a huge page on amd64 and arm64, in bytes.
const hugePage = 2 << 20

// minMap is the size in bytes below which an array is on the Go heap: a mapping costs a system
// call and a page.
const minMap = 64 << 10

// Arena owns a set of arrays. The zero value is ready for use. A nil *Arena puts every array on the
// Go heap. Several goroutines may call Make at once.
type Arena struct {
	// Kind is the purpose of the arrays, and Budget limits them; nil means the budget of the
	// process. Both are set before the first array is made.
	Kind   string
	Budget *Budget
	// Parent, if not nil, stores arrays for reuse by later arenas (Keep). It is set before the
	// first array is made.
	Parent *Arena

	mu      sync.Mutex
	regions []region
	heap    int64 // bytes of arrays on the Go heap
	closed  bool  // as a parent it stores no more spares; guarded by spares.mu
}

// region is a mapping; the first used bytes are still backed by memory.
type region struct {
	data   []byte
	used   int
	file   bool    // spilled, or mapped by Map: it is never a spare
	handed bool    // counted in spares.handed
	budget *Budget // the budget that counts it, or nil
}

// begins reports whether the region is the array that begins at p.
func (r region) begins(p unsafe.Pointer) bool {
	return unsafe.Pointer(unsafe.SliceData(r.data)) == p
}

// release frees the region and subtracts it from its budget.
func (r region) release(kind string) {
	if r.handed {
		spares.handed.Add(-int64(r.used))
	}
	release(r.data)
	r.budget.add(kind, -int64(r.used), r.file)
}

// budget returns the budget that limits the arena's arrays, or nil.
func (a *Arena) budget() *Budget { return cmp.Or(a.Budget, Process()) }

// Make returns a zeroed slice of n elements of type T. Small arrays and types with pointers are on
// the Go heap. Make panics with an *[Exhausted] if there is no memory.
func Make[T any](a *Arena, n int) []T { return take[T](a, n, true) }

// MakeAny is Make without zeroing. Elements must be written before they are read.
func MakeAny[T any](a *Arena, n int) []T {
	s := take[T](a, n, false)
	if poisons && n > 0 && PointerFree[T]() { // a pattern exposes reads before writes
		poison(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), n*SizeOf[T]()))
	}
	return s
}

// poison fills an array with a pattern. The race detector does not watch it: that would take much of
// the time of tests.
//
//go:norace
func poison(data []byte) {
	for done := copy(data, "\x5a"); done < len(data); done *= 2 {
		copy(data[done:], data[:done])
	}
}

func take[T any](a *Arena, n int, zero bool) []T {
	size := unsafe.Sizeof(*new(T))
	if n < 0 || (size > 0 && uintptr(n) > (1<<56)/size) {
		panic(fmt.Sprintf("mem: array of %d elements of %d bytes", n, size))
	}
	total := int(size) * n
	if a == nil {
		return make([]T, n)
	}
	if total < minMap || !PointerFree[T]() {
		a.mu.Lock()
		a.heap += int64(total)
		a.mu.Unlock()
		return make([]T, n)
	}
	data := a.reserve(total, zero)
	// The mapping is page-aligned, at least total bytes long, and T contains no pointers.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// reserve takes a region from the parent's spares, or else from the budget. It panics if there is
// no memory.
func (a *Arena) reserve(total int, zero bool) []byte {
	b, file, err := a.budget(), false, error(nil)
	data := a.borrow(total, b)
	if data != nil && zero {
		clear(data[:total])
	} else if data == nil {
		if data, file, err = b.take(a.Kind, total); err != nil {
			freeSpares()
			data, file, err = b.take(a.Kind, total)
		}
	}
	if refused := IsExhausted(err); refused != nil {
		panic(refused)
	}
	if err != nil {
		panic(&Exhausted{Bytes: int64(total), Err: err})
	}
	a.mu.Lock()
	a.regions = append(a.regions, region{data: data, used: total, file: file, budget: b})
	a.mu.Unlock()
	return data
}

// Map returns the first size bytes of a file, for reading only, until the arena is closed. It maps
// the file if the system supports that, else it reads the file. The file must not change meanwhile.
// It may be closed.
func Map(a *Arena, f *os.File, size int64) ([]byte, error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("mapping %d bytes", size)
	}
	data, err := mapFile(a, f, int(size))
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", size, err)
	}
	return data, nil
}

// Bytes returns the requested size of the arena's arrays, including those on the Go heap.
func (a *Arena) Bytes() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return sum(a.regions) + a.heap
}

// Trim returns the memory of s[n:] to the system, and returns s[:n:n]. s must be the whole result
// of a Make. The tail must not be used afterwards.
func Trim[T any](a *Arena, s []T, n int) []T {
	if a == nil || len(s) == 0 {
		return s[:n:n]
	}
	start := unsafe.Pointer(unsafe.SliceData(s))
	keep := n * int(unsafe.Sizeof(s[0]))
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.regions {
		r := &a.regions[i]
		if r.begins(start) && keep < r.used {
			discard(r.data, keep)
			r.budget.add(a.Kind, -int64(r.used-keep), r.file)
			r.used = keep
		}
	}
	return s[:n:n]
}

// Adopt moves all arrays of another arena to this one. A construction of several steps uses a
// temporary arena: it is closed if a step fails, and otherwise adopted.
func (a *Arena) Adopt(from *Arena) {
	from.mu.Lock()
	regions, heap := from.regions, from.heap
	from.regions, from.heap = nil, 0
	from.mu.Unlock()
	for _, r := range regions {
		r.budget.add(from.Kind, -int64(r.used), r.file)
		r.budget.add(a.Kind, int64(r.used), r.file)
	}
	a.mu.Lock()
	a.regions = append(a.regions, regions...)
	a.heap += heap
	a.mu.Unlock()
}

// Close frees every array of the arena, and the spares that it stores as a parent. The arrays must
// not be used afterwards. Close is idempotent.
func (a *Arena) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range append(a.regions, takeSpares(a)...) {
		r.release(a.Kind)
	}
	a.regions, a.heap = nil, 0
}

// At is &a[i&63]. The compiler's code for that expression first reads element 0, as a nil check,
// which may cost another cache miss.
func At[T any](a *[64]T, i uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(a), uintptr(i&63)*unsafe.Sizeof(*new(T))))
}

// PointerFree reports whether values of T contain no pointers, so they can be outside the Go heap
// and be sent as raw bytes.
func PointerFree[T any]() bool { return PointerFreeType(reflect.TypeFor[T]()) }

// PointerFreeType reports whether values of a type contain no pointers.
func PointerFreeType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return t.Len() == 0 || PointerFreeType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !PointerFreeType(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
