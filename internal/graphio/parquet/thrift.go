package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// thriftDepth is the maximum nesting of structs. Parquet needs less than 10.
const thriftDepth = 32

var (
	errThriftEnd  = errors.New("a struct that goes on after its end")
	errThriftForm = errors.New("no struct of the compact protocol")
)

// thriftReader is the library's reader of Thrift's compact protocol. The library allocates lists by
// the lengths in the footer and in page headers, and nests as deep as they do. thriftReader checks
// both first.
type thriftReader struct {
	thrift.BytesReader
	discarder
	size  int   // bytes of the data
	items int   // texts and structs in lists so far
	open  []int // the number of structs that have not ended, by depth: in a list, or of a field
}

// discarder is a method of the library's reader that thrift.BytesReader lacks.
type discarder interface{ Discard(n int) (int, error) }

// begin opens structs that follow each other.
func (r *thriftReader) begin(structs int) error {
	if len(r.open) == thriftDepth {
		return errThriftForm
	}
	r.open = append(r.open, structs)
	return nil
}

func (r *thriftReader) ReadField() (thrift.Field, error) {
	f, err := r.BytesReader.ReadField()
	last := len(r.open) - 1
	switch {
	case err != nil:
	case f.Type == thrift.MAP: // Parquet uses none
		err = errThriftForm
	case f.Type == thrift.STRUCT:
		err = r.begin(1)
	case f.Type == thrift.STOP && last >= 0: // the outermost struct is not in open
		if r.open[last]--; r.open[last] == 0 {
			r.open = r.open[:last]
		}
	}
	return f, err
}

func (r *thriftReader) ReadList() (thrift.List, error) {
	l, err := r.BytesReader.ReadList()
	n := int(l.Size)
	if l.Type >= thrift.BINARY {
		r.items += n
	}
	switch {
	case err != nil:
	case n > r.size-r.BytesRead():
		err = io.ErrUnexpectedEOF
	case r.items > r.size/6+64: // empty items, which would take memory
		err = errThriftForm
	case l.Type == thrift.LIST || l.Type == thrift.SET || l.Type == thrift.MAP:
		err = errThriftForm // Parquet has no lists of these
	case l.Type == thrift.STRUCT && n > 0:
		err = r.begin(n)
	}
	return l, err
}

func (r *thriftReader) ReadSet() (thrift.Set, error) {
	l, err := r.ReadList()
	return thrift.Set(l), err
}

// decodeThrift decodes the struct at the beginning of data, and returns its length. The struct may
// have parts of data.
func decodeThrift(data []byte, to any) (n int, err error) {
	b := new(thrift.CompactProtocol).NewReaderFromBytes(data)
	r := &thriftReader{BytesReader: b, discarder: b.(discarder), size: len(data)}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	err = thrift.NewDecoder(r).Decode(to)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errThriftEnd
	case errors.Is(err, errThriftForm):
		err = errThriftForm
	}
	return r.BytesRead(), err
}
