package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// packedAtOnce is how many values with pointers are packed as one block: the guard bounds what a block may hold.
const packedAtOnce = 4096

var errState = errors.New("the checkpoint does not hold what it says")

// packColumn returns the first n values of a column as sections hold them.
func packColumn(c kernel.Column, n int) ([]byte, error) {
	if !c.Raw() {
		return packBlocks(reflect.ValueOf(c.Slice()).Slice(0, n))
	}
	var p kernel.Packed
	c.Pack(&p)
	return slices.Clone(p.Raw[:n*int(c.Type().Size())]), nil
}

// unpackColumn returns the n values of a section, of the type of another column. They may share the section's memory.
func unpackColumn(like kernel.Column, b []byte, n int) (kernel.Column, error) {
	c, p := like.New(nil), kernel.Packed{Raw: b, N: n}
	if !c.Raw() {
		v, err := unpackBlocks(b, reflect.SliceOf(c.Type()), n)
		if err != nil {
			return nil, err
		}
		p.Ref = v.Interface()
	} else if size := int(c.Type().Size()); len(b) != n*size {
		return nil, fmt.Errorf("%w: %d bytes for %d values of %d", errState, len(b), n, size)
	}
	return c, c.View(&p)
}

// packBlocks encodes a slice of values with pointers: blocks of packedAtOnce, each behind its length in 4 bytes.
func packBlocks(values reflect.Value) (b []byte, err error) {
	for lo := 0; lo < values.Len(); lo += packedAtOnce {
		some := reflect.New(values.Type())
		some.Elem().Set(values.Slice(lo, min(lo+packedAtOnce, values.Len())))
		data, err := pack.Value(some.Interface())
		if err != nil {
			return nil, err
		}
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	return b, nil
}

// unpackBlocks decodes n values of a slice of a type. It bears any bytes.
func unpackBlocks(b []byte, t reflect.Type, n int) (reflect.Value, error) {
	all := reflect.MakeSlice(t, 0, min(n, len(b)))
	for len(b) > 0 {
		if len(b) < 4 {
			return all, fmt.Errorf("%w: %d bytes of a block", errState, len(b))
		}
		size := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(size) > uint64(len(b)) {
			return all, fmt.Errorf("%w: a block of %d bytes in %d", errState, size, len(b))
		}
		some := reflect.New(t)
		if err := pack.IntoValue(b[:size], some.Interface()); err != nil {
			return all, err
		}
		if some.Elem().Len() > min(packedAtOnce, n-all.Len()) {
			return all, fmt.Errorf("%w: a block of %d values, where %d are missing", errState, some.Elem().Len(), n-all.Len())
		}
		all, b = reflect.AppendSlice(all, some.Elem()), b[size:]
	}
	if all.Len() != n {
		return all, fmt.Errorf("%w: %d values, expected %d", errState, all.Len(), n)
	}
	return all, nil
}

// packProperty returns the storage of a property as sections hold it.
func packProperty(c kernel.Property, storage any) ([]byte, error) {
	if c.Bytes != nil {
		return slices.Clone(c.Bytes(storage)), nil
	}
	return packBlocks(reflect.ValueOf(storage))
}

// unpackProperty returns storage of n values of a property.
func unpackProperty(c kernel.Property, b []byte, n int) (any, error) {
	if c.Bytes == nil {
		v, err := unpackBlocks(b, reflect.SliceOf(c.Type), n)
		if err != nil {
			return nil, err
		}
		return v.Interface(), nil
	}
	if uint64(len(b)) != uint64(n)*uint64(c.Type.Size()) {
		return nil, fmt.Errorf("%w: %d bytes for %d values of %d", errState, len(b), n, c.Type.Size())
	}
	storage := c.New(n)
	copy(c.Bytes(storage), b)
	return storage, nil
}
