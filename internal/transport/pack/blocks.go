package pack

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Splitter is a writer that cuts a raw result into its blocks.
type Splitter struct {
	// Each is called for every block, with its partition. The block is only valid during the call.
	Each func(partition uint32, block []byte) error
	Most uint64 // greatest number of bytes of a block's values; 0 means no limit
	rest []byte // the bytes of an incomplete block
}

// Write takes the next bytes of a raw result.
func (s *Splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	at := 0
	for len(s.rest)-at >= blockHeader {
		b := s.rest[at:]
		size := binary.LittleEndian.Uint64(b[16:])
		if s.Most > 0 && size > s.Most {
			return 0, fmt.Errorf("found a block of %d bytes, expected at most %d", size, s.Most)
		}
		if size > uint64(len(b)-blockHeader) {
			break
		}
		if err := s.Each(binary.LittleEndian.Uint32(b), b[:blockHeader+int(size)]); err != nil {
			return 0, err
		}
		at += blockHeader + int(size)
	}
	s.rest = append(s.rest[:0], s.rest[at:]...)
	return len(p), nil
}

// Blocks is a writer that decodes the values of vertices from the blocks of a raw result. The
// values of a partition must come in order.
type Blocks struct {
	Splitter
	// column returns any column for values of a partition, and the number of its vertices; nil if
	// the partition is not here. put stores values of vertices from first on.
	column func(partition int) (like kernel.Column, vertices int)
	put    func(partition, first int, some kernel.Column)
	gaps   bool // blocks may leave out vertices

	encoding *Values     // set by the first block
	next     map[int]int // the next vertex, by partition
	taken    int         // number of values so far
}

func newBlocks(
	column func(partition int) (kernel.Column, int),
	put func(partition, first int, some kernel.Column),
) *Blocks {
	b := &Blocks{column: column, put: put, next: map[int]int{}}
	b.Each = b.block
	return b
}

// NewBlocks makes a Blocks that fills one column per local partition, with one element per vertex.
// The type of values is known only at run time.
func NewBlocks(columns map[int]kernel.Column) *Blocks {
	return newBlocks(func(partition int) (kernel.Column, int) {
		c, ok := columns[partition]
		if !ok {
			return nil, 0
		}
		return c, c.Len()
	}, func(partition, first int, some kernel.Column) {
		columns[partition].Copy(first, some, 0, some.Len())
	})
}

// block decodes a complete block.
func (c *Blocks) block(partition uint32, b []byte) error {
	like, vertices := c.column(int(partition))
	if like == nil {
		return fmt.Errorf("found values of partition %d, which is not here", partition)
	}
	count, first := int(binary.LittleEndian.Uint32(b[4:])), c.next[int(partition)]
	found := binary.LittleEndian.Uint64(b[8:])
	if c.gaps && found > uint64(first) && found <= uint64(vertices) {
		first = int(found)
	}
	if found != uint64(first) || count > vertices-first {
		return fmt.Errorf("found %d values of partition %d from vertex %d on, expected at most %d from %d on", count, partition, found, vertices-first, first)
	}
	if c.encoding == nil {
		encoding, err := NewValues(like.Type(), like.Raw())
		if err != nil {
			return err
		}
		c.encoding = &encoding
	}
	some, err := c.encoding.Decode(b[blockHeader:], count, like)
	if err != nil {
		return fmt.Errorf("values of partition %d: %w", partition, err)
	}
	c.put(int(partition), first, some)
	c.next[int(partition)], c.taken = first+count, c.taken+count
	return nil
}

// Whole returns an error unless exactly this number of vertices have values, and no block is
// incomplete.
func (c *Blocks) Whole(vertices int) error {
	if c.taken != vertices || len(c.rest) > 0 {
		return fmt.Errorf("found the values of %d vertices, and %d bytes behind them, expected %d",
			c.taken, len(c.rest), vertices)
	}
	return nil
}

// Describe returns a description of a type as Values.Type does. raw means that its values have no
// pointers.
func Describe(t reflect.Type, raw bool) string { return describe(t, raw, nil) }
