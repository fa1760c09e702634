package kernel

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// Encode returns the cell's value as bytes, for the coordinator in another process.
func (c *TypedCell[T]) Encode(pack func(value any) ([]byte, error)) ([]byte, error) {
	var exact []float64
	if c.parts != nil {
		exact = append([]float64{c.parts.special}, c.parts.parts...)
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(exact)))
	data, err := binary.Append(data, binary.LittleEndian, exact)
	if err != nil {
		return nil, err
	}
	if c.size() >= 0 {
		return binary.Append(data, binary.LittleEndian, c.Value)
	}
	packed, err := pack(&c.Value)
	return append(data, packed...), err
}

// Decode sets the cell to what Encode wrote.
func (c *TypedCell[T]) Decode(data []byte, unpack func(data []byte, value any) error) error {
	if len(data) < 4 {
		return fmt.Errorf("an aggregate of %d bytes", len(data))
	}
	n := int(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > len(data)/8 || (n > 0) != (c.parts != nil) {
		return fmt.Errorf("an aggregate with %d parts in %d bytes", n, len(data))
	}
	if c.parts != nil {
		exact := make([]float64, n)
		if _, err := binary.Decode(data, binary.LittleEndian, exact); err != nil {
			return err
		}
		c.parts.special, c.parts.parts = exact[0], exact[1:]
	}
	data = data[8*n:]
	if size := c.size(); size >= 0 {
		if size != len(data) {
			return fmt.Errorf("an aggregate of %d bytes, expected %d", len(data), size)
		}
		_, err := binary.Decode(data, binary.LittleEndian, &c.Value)
		return err
	}
	var value T // not what the last one lies in, which others may read
	if err := unpack(data, &value); err != nil {
		return err
	}
	c.Value = value
	return nil
}

// size is how many bytes every value of the type takes, or -1 if that depends on the value.
func (c *TypedCell[T]) size() int {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Slice, reflect.Pointer:
		return -1
	}
	return binary.Size(c.Value)
}
