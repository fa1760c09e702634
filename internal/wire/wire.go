// Package wire views columns as bytes, as they are sent and stored: unchanged from memory, which
// must be little-endian.
package wire

import "unsafe"

// Bytes returns the memory of a slice of values without pointers as bytes, including its capacity.
// Both share memory.
func Bytes[T any](s []T) []byte {
	size := int(unsafe.Sizeof(*new(T)))
	if cap(s) == 0 || size == 0 {
		return nil
	}
	// Any memory may be read and written as bytes.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), cap(s)*size)[:len(s)*size]
}

// Slice returns the memory of bytes as len(b)/sizeof(T) values of T, which must have no pointers.
// If the address is not aligned for T, the bytes are copied.
func Slice[T any](b []byte) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if size == 0 || cap(b) < size {
		return nil
	}
	data := unsafe.Pointer(unsafe.SliceData(b[:cap(b)]))
	if uintptr(data)%unsafe.Alignof(*new(T)) != 0 {
		s := make([]T, len(b)/size)
		copy(Bytes(s), b)
		return s
	}
	// The memory is aligned and lives as long as b. Of the types in use only bool has invalid bit
	// patterns.
	return unsafe.Slice((*T)(data), cap(b)/size)[:len(b)/size]
}
