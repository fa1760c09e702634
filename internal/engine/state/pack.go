// Package state saves and restores columns of a partition: of its vertices, of its edges, and bits
// of its vertices. It knows the parts of a checkpoint, which may be of another number of
// partitions; package engine names the sections.
package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// packedAtOnce is how many values with pointers are packed as one block: the guard bounds what a
// block may hold.
const packedAtOnce = 4096

// Err is what is wrong with a part that does not hold what it says.
var Err = errors.New("the checkpoint does not hold what it says")

// Pack returns a column's values as sections hold them: a view of values without pointers.
// Values with pointers are encoded in blocks of packedAtOnce, each behind its length in 4 bytes.
func Pack(c kernel.Column) (b []byte, err error) {
	var p kernel.Packed
	if c.Pack(&p); c.Raw() {
		return p.Raw, nil
	}
	for lo := 0; lo < c.Len(); lo += packedAtOnce {
		data, err := pack.Value(c.Part(lo, min(lo+packedAtOnce, c.Len())).Slice())
		if err != nil {
			return nil, err
		}
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	return b, nil
}

// Unpack returns the n values of a section, of the type of another column. They may share
// the section's memory. It bears any bytes.
func Unpack(like kernel.Column, b []byte, n int) (kernel.Column, error) {
	all := like.New(nil)
	if like.Raw() {
		if err := all.View(&kernel.Packed{Raw: b, N: n}); err != nil {
			return nil, fmt.Errorf("%w: %w", Err, err)
		}
		return all, nil
	}
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, fmt.Errorf("%w: %d bytes of a block", Err, len(b))
		}
		size := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(size) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: a block of %d bytes in %d", Err, size, len(b))
		}
		values := reflect.New(reflect.SliceOf(like.Type()))
		if err := pack.IntoValue(b[:size], values.Interface()); err != nil {
			return nil, err
		}
		some, missing := like.New(nil), n-all.Len()
		block := kernel.Packed{Ref: values.Elem().Interface(), N: values.Elem().Len()}
		if err := some.View(&block); err != nil || block.N > min(packedAtOnce, missing) {
			return nil, fmt.Errorf(
				"%w: a block of %d values, where %d are missing", Err, block.N, missing)
		}
		all.Append(some)
		b = b[size:]
	}
	if all.Len() != n {
		return nil, fmt.Errorf("%w: %d values, expected %d", Err, all.Len(), n)
	}
	return all, nil
}
