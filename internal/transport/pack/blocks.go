package pack

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Splitter cuts a raw result, which is written to it, into its blocks.
type Splitter struct {
	// Each gets every block, with the partition it is of. It is only valid during the call.
	Each func(partition uint32, block []byte) error
	rest []byte // of a block that is not whole yet
}

// Write takes what comes next of a raw result.
func (s *Splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	at := 0
	for len(s.rest)-at >= blockHeader {
		b := s.rest[at:]
		size := binary.LittleEndian.Uint64(b[16:])
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

// Blocks puts the blocks of a raw result into columns whose type is known at run time alone.
type Blocks struct {
	Splitter
	columns map[int]kernel.Column // by partition, an element for each of its vertices
	next    map[int]int           // vertex of each partition
}

// NewBlocks makes a Blocks that fills a column for each partition here.
func NewBlocks(columns map[int]kernel.Column) *Blocks {
	b := &Blocks{columns: columns, next: map[int]int{}}
	b.Each = b.block
	return b
}

// block takes a whole block.
func (c *Blocks) block(partition uint32, b []byte) error {
	all, ok := c.columns[int(partition)]
	if !ok {
		return fmt.Errorf("found values of partition %d, which is not here", partition)
	}
	count, first := int(binary.LittleEndian.Uint32(b[4:])), c.next[int(partition)]
	if found := binary.LittleEndian.Uint64(b[8:]); found != uint64(first) || count > all.Len()-first {
		return fmt.Errorf("found %d values of partition %d from vertex %d on, expected at most %d from %d on", count, partition, found, all.Len()-first, first)
	}
	encoding, err := NewValues(all.Type(), all.Raw())
	if err != nil {
		return err
	}
	some, err := encoding.Decode(b[blockHeader:], count, all)
	if err != nil {
		return fmt.Errorf("values of partition %d: %w", partition, err)
	}
	all.Copy(first, some, 0, count)
	c.next[int(partition)] += count
	return nil
}

// Whole is an error unless every vertex has its value.
func (c *Blocks) Whole() error {
	for partition, all := range c.columns {
		if n, found := all.Len(), c.next[partition]; found != n || len(c.rest) > 0 {
			return fmt.Errorf("found the values of %d vertices of partition %d, and %d bytes behind them, expected %d", found, partition, len(c.rest), n)
		}
	}
	return nil
}

// Describe describes a type as Values.Type does: raw says that its values hold no pointers.
func Describe(t reflect.Type, raw bool) string { return describe(t, raw, nil) }
