// Package state saves and restores columns of a partition: of its vertices, of its edges, and bits
// of its vertices. It knows the parts of a checkpoint, which may be of another number of
// partitions; package engine names the sections.
package state

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// packedAtOnce is how many values with pointers are packed as one block: the guard bounds what a
// block may hold.
const packedAtOnce = 4096

// Err is what is wrong with a part that does not hold what it says.
var Err = errors.New("the checkpoint does not hold what it says")

// Pack returns a column's values as sections hold them: a view of values without pointers, others
// in the blocks of a raw result.
func Pack(c kernel.Column) (b []byte, err error) {
	if c.Raw() {
		var p kernel.Packed
		c.Pack(&p)
		return p.Raw, nil
	}
	encoding, err := pack.NewValues(c.Type(), false)
	for lo := 0; lo < c.Len() && err == nil; lo += packedAtOnce {
		b, err = encoding.AppendBlock(b, 0, lo, c.Part(lo, min(lo+packedAtOnce, c.Len())))
	}
	return b, err
}

// Unpack returns the n values of a section, of the type of another column. They may share
// the section's memory. It bears any bytes.
func Unpack(like kernel.Column, b []byte, n int) (kernel.Column, error) {
	all := like.New(nil)
	var err error
	if like.Raw() {
		err = all.View(&kernel.Packed{Raw: b, N: n})
	} else {
		all.AppendZero(n)
		blocks := pack.NewBlocks(map[int]kernel.Column{0: all})
		if _, err = blocks.Write(b); err == nil {
			err = blocks.Whole(n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", Err, err)
	}
	return all, nil
}
