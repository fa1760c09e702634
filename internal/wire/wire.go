// Package wire views columns as the bytes that travel: as they lie in memory, which is taken to be
// little-endian.
package wire

import "unsafe"

// Bytes views a slice of values without pointers as bytes, capacity included. The two share memory.
func Bytes[T any](s []T) []byte {
	size := int(unsafe.Sizeof(*new(T)))
	if cap(s) == 0 || size == 0 {
		return nil
	}
	// Any memory may be read and written as bytes.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), cap(s)*size)[:len(s)*size]
}

// Slice views bytes as values of T, which must hold no pointers: len(b)/sizeof(T) of them. Bytes
// that do not begin at an address T can have are copied.
func Slice[T any](b []byte) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	if size == 0 || cap(b) < size {
		return nil
	}
	data := unsafe.Pointer(unsafe.SliceData(b[:cap(b)]))
	if uintptr(data)%unsafe.Alignof(t) != 0 {
		s := make([]T, len(b)/size)
		copy(Bytes(s), b)
		return s
	}
	// The memory is aligned, lives as long as b, and T has no invalid bit patterns that matter but
	// bool's.
	return unsafe.Slice((*T)(data), cap(b)/size)[:len(b)/size]
}
