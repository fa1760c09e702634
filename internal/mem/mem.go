// Package mem holds the large arrays of a graph and of a run: zeroed, free of pointers, outside the
// Go heap, on huge pages where the system has them. The garbage collector neither scans them nor
// counts them. (That is Linux; on other systems arrays stay on the Go heap.)
//
// Arrays live in an [Arena] and die with it; whoever holds a slice of one must keep its arena open.
package mem

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"unsafe"
)

// hugePage is the size of a huge page on amd64 and arm64, in bytes.
const hugePage = 2 << 20

// small is the size in bytes below which an array stays on the Go heap: a mapping costs a system
// call and a page.
const small = 64 << 10

// Arena owns a set of arrays. The zero value is ready; a nil *Arena puts every array on the Go
// heap. Make may be called by several goroutines at once.
type Arena struct {
	// Kind says what the arrays are for, and Budget bounds them; with nil that of the process does.
	// Both are set before the first array is made.
	Kind   string
	Budget *Budget
	// Parent, if not nil, has arrays of arenas that were closed by Keep, for this one. It is set
	// before the first array is made.
	Parent *Arena

	mu      sync.Mutex
	regions []region
	heap    int64 // bytes of arrays on the Go heap
	closed  bool  // keeps no spares; guarded by spares.mu
}

// region is one mapping and what part of it is still backed by memory.
type region struct {
	data   []byte
	used   int
	file   bool    // spilled, or mapped by Map: it is not kept
	budget *Budget // that counts it, or nil
}

// release frees the region, which counts as of a kind.
func (r region) release(kind string) {
	release(r.data)
	r.budget.add(kind, -int64(r.used), r.file)
}

// budget returns the budget that bounds the arena's arrays, or nil.
func (a *Arena) budget() *Budget {
	if a.Budget != nil {
		return a.Budget
	}
	return Process()
}

// Make returns a zeroed slice of n elements of type T in a. Types that hold pointers, and small
// arrays, are put on the Go heap, where they need no closing. It panics with an *[Exhausted] when
// there is no memory.
func Make[T any](a *Arena, n int) []T { return take[T](a, n, true) }

// MakeAny is Make of elements that may have any value. They are to be written before they are read.
func MakeAny[T any](a *Arena, n int) []T {
	s := take[T](a, n, false)
	if poisons && n > 0 && PointerFree[T]() { // who reads what was not written finds no zeros
		data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), n*SizeOf[T]())
		for i := range data {
			data[i] = 0x5a
		}
	}
	return s
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
	if total < small || !PointerFree[T]() {
		a.mu.Lock()
		a.heap += int64(total)
		a.mu.Unlock()
		return make([]T, n)
	}
	data := a.reserve(total, zero)
	// The mapping is page-aligned, at least total bytes long, and T holds no pointers.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// reserve takes a region of the parent, or else of the budget. It panics when there is no memory.
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
	a.regions = append(a.regions, region{data, total, file, b})
	a.mu.Unlock()
	return data
}

// Map returns the first size bytes of a file, to be read alone, until the arena is closed: mapped
// into memory where the system can, else read into it. The file must not be changed meanwhile, and
// may be closed.
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

// Bytes returns how many bytes the arena's arrays take, as asked for, those on the Go heap
// included.
func (a *Arena) Bytes() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return sum(a.regions) + a.heap
}

// Trim gives the memory behind s[n:] back to the system. The slice must be one that Make returned,
// whole, and its tail must not be used again. It returns s[:n:n].
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
		if unsafe.Pointer(unsafe.SliceData(r.data)) == start && keep < r.used {
			discard(r.data, keep)
			r.budget.add(a.Kind, -int64(r.used-keep), r.file)
			r.used = keep
		}
	}
	return s[:n:n]
}

// Adopt takes over all arrays of another arena, which is empty then: what is made step by step is
// made in an arena of its own, which is closed when a step fails, and else adopted.
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

// Close unmaps every array of the arena, and those that it keeps as a parent. Slices of them must
// not be touched afterwards. Close is idempotent.
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

// At is &a[i&63]. The compiler's own form first reads the array's first element, to find out whether
// there is an array: that may be a cache miss more.
func At[T any](a *[64]T, i uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(a), uintptr(i&63)*unsafe.Sizeof(*new(T))))
}

// PointerFree reports whether values of T hold no pointers, so that they may live outside the Go
// heap and travel as raw bytes.
func PointerFree[T any]() bool { return PointerFreeType(reflect.TypeFor[T]()) }

// PointerFreeType reports whether values of a type hold no pointers.
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
