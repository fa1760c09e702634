//go:build !linux

package mem

import (
	"io"
	"os"
	"unsafe"
)

func mapFile(a *Arena, f *os.File, size int) ([]byte, error) {
	words := Make[uint64](a, (size+7)/8)
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data)
	return data, err
}
