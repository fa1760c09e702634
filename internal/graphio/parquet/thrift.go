package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// thriftDepth is the maximum nesting of structs. Parquet needs less than 10.
const thriftDepth = 32

var (
	errThriftEnd  = errors.New("a struct that goes on after its end")
	errThriftForm = errors.New("no struct of the compact protocol")
)

// thriftWalk walks through a value in Thrift's compact protocol. The library allocates lists by the
// lengths in the footer and in page headers, so thriftWalk checks all lengths first.
type thriftWalk struct {
	data    []byte // the rest
	structs int    // number of structs in lists
	err     error
}

// thriftLength returns the length of the struct at the beginning of data. It checks that all
// lengths in the struct are within data.
func thriftLength(data []byte) (int, error) {
	w := thriftWalk{data: data}
	w.value(12, 0)
	if w.structs > len(data)/6+64 {
		w.fail(errThriftForm) // empty structs in lists, which would take memory
	}
	return len(data) - len(w.data), w.err
}

func (w *thriftWalk) fail(err error) { w.err = cmp.Or(w.err, err) }

// skip returns the last of the next n bytes, and 0 after a failure.
func (w *thriftWalk) skip(n uint64) byte {
	if n > uint64(len(w.data)) {
		w.fail(errThriftEnd)
	}
	if w.err != nil || n == 0 {
		return 0
	}
	last := w.data[n-1]
	w.data = w.data[n:]
	return last
}

func (w *thriftWalk) uvarint() uint64 {
	x, n := binary.Uvarint(w.data)
	if n == 0 {
		w.fail(errThriftEnd)
	} else if n < 0 {
		w.fail(errThriftForm)
	}
	w.skip(uint64(max(n, 0)))
	return x
}

// value walks through a value of the given type.
func (w *thriftWalk) value(kind byte, depth int) {
	if depth > thriftDepth {
		w.fail(errThriftForm)
		return
	}
	switch kind {
	case 1, 2, 3:
		w.skip(1)
	case 4, 5, 6:
		w.uvarint()
	case 7:
		w.skip(8)
	case 8:
		w.skip(w.uvarint())
	case 9, 10:
		head := w.skip(1)
		n := uint64(head >> 4)
		if n == 15 {
			n = w.uvarint()
		}
		if n > uint64(len(w.data)) {
			w.fail(errThriftEnd)
		}
		if head&15 >= 8 {
			w.structs += int(n)
		}
		for ; n > 0 && w.err == nil; n-- {
			w.value(head&15, depth+1)
		}
	case 12:
		for b := w.skip(1); b != 0; b = w.skip(1) {
			if b>>4 == 0 { // the field number follows
				w.uvarint()
			}
			if b &= 15; b > 2 { // otherwise a boolean whose value is its type
				w.value(b, depth+1)
			}
		}
	default: // maps, which Parquet does not use
		w.fail(errThriftForm)
	}
}

// decodeThrift decodes the struct at the beginning of data, and returns its length.
func decodeThrift(data []byte, to any) (n int, err error) {
	if n, err = thriftLength(data); err != nil {
		return n, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return n, thrift.Unmarshal(new(thrift.CompactProtocol), data[:n], to)
}
