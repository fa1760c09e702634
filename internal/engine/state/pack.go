// Package state saves and restores columns of a partition: values of its vertices, values of its
// edges, and bits of its vertices. The parts of a checkpoint may be of another number of
// partitions. Package engine calls it for all state in a checkpoint, and names most sections. Read
// pack.go first, then owner.go and columns.go.
package state

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// packedAtOnce is the number of values with pointers in a packed block. The decoder limits the size
// of a block.
const packedAtOnce = 4096

// Err is the error for a part whose content is inconsistent.
var Err = errors.New("the checkpoint is inconsistent")

// Pack returns a column's values in the format of a section: a view of values without pointers, or
// the blocks of a raw result.
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

// Unpack returns the n values of a section. They have the type of the column like, and may share
// the section's memory. It returns an error for any invalid input.
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
