//go:build !linux

package mem

import "unsafe"

// reserve takes memory from the Go heap, as 8-byte words so that it is aligned for any element.
func reserve(total int, _ bool) ([]byte, error) {
	words := make([]uint64, (total+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), total), nil
}

const poisons = false

func release([]byte) {}

func discard([]byte, int) {}

// PeakRSS returns the largest resident set the process has had, in bytes, or 0 where it cannot be
// known.
func PeakRSS() int64 { return 0 }

// Anonymous returns the bytes of the process's memory that are no file's, or 0 where it cannot be
// known.
func Anonymous() int64 { return 0 }

// RSS returns the resident set of the process in bytes, or 0 where it cannot be known.
func RSS() int64 { return 0 }

// Available returns the memory the process can still have without swapping, in bytes, or 0 if
// unknown.
func Available() int64 { return 0 }

func systemLimit() (int64, string) { return 0, "" }
