package pack

import (
	"encoding/binary"
	"fmt"
	"reflect"
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

// Blocks puts the blocks of a raw result into storage whose type is known at run time alone: of a vertex property.
type Blocks struct {
	Splitter
	storage map[int]any              // []T by partition, an element for each of its vertices
	bytes   func(storage any) []byte // as it lies in memory; nil where T holds pointers
	next    map[int]int              // vertex of each partition
}

// NewBlocks makes a Blocks that fills storage, a []T for each partition here.
func NewBlocks(storage map[int]any, bytes func(storage any) []byte) *Blocks {
	b := &Blocks{storage: storage, bytes: bytes, next: map[int]int{}}
	b.Each = b.block
	return b
}

// block takes a whole block.
func (c *Blocks) block(partition uint32, b []byte) error {
	storage, ok := c.storage[int(partition)]
	if !ok {
		return fmt.Errorf("found values of partition %d, which is not here", partition)
	}
	all := reflect.ValueOf(storage)
	count, first := int(binary.LittleEndian.Uint32(b[4:])), c.next[int(partition)]
	if found := binary.LittleEndian.Uint64(b[8:]); found != uint64(first) || count > all.Len()-first {
		return fmt.Errorf("found %d values of partition %d from vertex %d on, expected at most %d from %d on", count, partition, found, all.Len()-first, first)
	}
	some, data := all.Slice(first, first+count), b[blockHeader:]
	if c.bytes != nil {
		to := c.bytes(some.Interface())
		if len(to) != len(data) {
			return fmt.Errorf("found %d bytes for %d values, expected %d", len(data), count, len(to))
		}
		copy(to, data)
	} else {
		decoded := reflect.New(all.Type())
		if err := IntoValue(data, decoded.Interface()); err != nil {
			return fmt.Errorf("values of partition %d: %w", partition, err)
		}
		if n := decoded.Elem().Len(); n != count {
			return fmt.Errorf("found %d values of partition %d, and %d said", n, partition, count)
		}
		reflect.Copy(some, decoded.Elem())
	}
	c.next[int(partition)] += count
	return nil
}

// Whole is an error unless every vertex has its value.
func (c *Blocks) Whole() error {
	for partition, storage := range c.storage {
		if n, found := reflect.ValueOf(storage).Len(), c.next[partition]; found != n || len(c.rest) > 0 {
			return fmt.Errorf("found the values of %d vertices of partition %d, and %d bytes behind them, expected %d", found, partition, len(c.rest), n)
		}
	}
	return nil
}

// Describe describes a type as Values.Type does: raw says that its values hold no pointers.
func Describe(t reflect.Type, raw bool) string { return describe(t, raw, nil) }
