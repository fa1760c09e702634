package mem

import "runtime"

// Buffer is bytes whose end nobody announces, as those of a frame that came from another worker:
// they are on Go's heap or, above the soft limit of a budget, mapped from a file until the Buffer
// is no longer reachable. Who uses Data keeps the Buffer.
type Buffer struct {
	Data    []byte
	kind    string
	region  region // zero: on the heap
	cleanup runtime.Cleanup
}

// Buffer makes a buffer of so many zeroed bytes, or refuses it by an *[Exhausted].
func (b *Budget) Buffer(kind string, bytes int) (*Buffer, error) {
	n := int64(bytes)
	if b == nil || n < b.least {
		return &Buffer{Data: make([]byte, bytes)}, nil
	}
	data, failed := b.spill(kind, bytes)
	if data != nil {
		f := &Buffer{data, kind, region{data, bytes, true, b}, runtime.Cleanup{}}
		f.cleanup = runtime.AddCleanup(f, f.region.release, kind)
		return f, nil
	}
	if !b.fits(n) {
		return nil, b.refuse(kind, n, failed)
	}
	return &Buffer{Data: make([]byte, bytes)}, nil
}

// Free gives the bytes back at once: nobody may use them any more.
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
