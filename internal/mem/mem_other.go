//go:build !linux

package mem

import "unsafe"

// reserve allocates 8-byte words on the Go heap, so the array is aligned for any element type.
func reserve(total int, _ bool) ([]byte, error) {
	words := make([]uint64, (total+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), total), nil
}

const poisons = false

func release([]byte) {}

func discard([]byte, int) {}

// PeakRSS returns the largest resident set of the process so far, in bytes, or 0 if unknown.
func PeakRSS() int64 { return 0 }

// Anonymous returns the bytes of the process's memory that are not backed by files, or 0 if
// unknown.
func Anonymous() int64 { return 0 }

// RSS returns the resident set of the process in bytes, or 0 if unknown.
func RSS() int64 { return 0 }

// Available returns the bytes of memory that the process can still get without swapping, or 0 if
// unknown.
func Available() int64 { return 0 }

func systemLimit() int64 { return 0 }
