package mem

import "runtime"

// Buffer has bytes that are freed when the Buffer becomes unreachable, for example those of a frame
// from another worker. They are on Go's heap or, above the soft limit of a budget, mapped from a
// file. While Data is used, the Buffer must stay reachable.
type Buffer struct {
	Data    []byte
	kind    string
	region  region // zero if the bytes are on the heap
	cleanup runtime.Cleanup
}

// Buffer makes a zeroed buffer. If the budget has no room, the error is an *[Exhausted].
func (b *Budget) Buffer(kind string, bytes int) (*Buffer, error) {
	n := int64(bytes)
	if b == nil || n < b.least {
		return &Buffer{Data: make([]byte, bytes)}, nil
	}
	data, failed := b.spill(kind, bytes)
	if data != nil {
		f := &Buffer{data, kind, region{data: data, used: bytes, file: true, budget: b}, runtime.Cleanup{}}
		f.cleanup = runtime.AddCleanup(f, f.region.release, kind)
		return f, nil
	}
	if !b.fits(n) {
		return nil, b.refuse(kind, n, failed)
	}
	return &Buffer{Data: make([]byte, bytes)}, nil
}

// Free frees the bytes at once. They must not be used afterwards.
func (f *Buffer) Free() {
	if f == nil {
		return
	}
	if f.region.budget != nil {
		f.cleanup.Stop()
		f.region.release(f.kind)
	}
	*f = Buffer{}
}
