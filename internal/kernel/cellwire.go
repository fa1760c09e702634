package kernel

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// Encode returns the cell's encoded value, for the coordinator in another process.
func (c *TypedCell[T]) Encode(pack func(value any) ([]byte, error)) ([]byte, error) {
	return encode(&c.Value, c.parts, pack)
}

// Decode sets the cell to a value that Encode encoded.
func (c *TypedCell[T]) Decode(data []byte, unpack func(data []byte, value any) error) error {
	return decode(&c.Value, c.parts, data, unpack)
}

// encode encodes the value that value points to, and the parts of an exact sum.
func encode(value any, parts *exactSum, pack func(value any) ([]byte, error)) ([]byte, error) {
	var exact []float64
	if parts != nil {
		exact = append([]float64{parts.special}, parts.parts...)
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(exact)))
	data, err := binary.Append(data, binary.LittleEndian, exact)
	if err != nil {
		return nil, err
	}
	if size(value) >= 0 {
		return binary.Append(data, binary.LittleEndian, value)
	}
	packed, err := pack(value)
	return append(data, packed...), err
}

func decode(to any, sum *exactSum, data []byte, unpack func(data []byte, value any) error) error {
	if len(data) < 4 {
		return fmt.Errorf("an aggregate of %d bytes", len(data))
	}
	n := int(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > len(data)/8 || (n > 0) != (sum != nil) {
		return fmt.Errorf("an aggregate with %d parts in %d bytes", n, len(data))
	}
	if sum != nil {
		exact := make([]float64, n)
		if _, err := binary.Decode(data, binary.LittleEndian, exact); err != nil {
			return err
		}
		sum.special, sum.parts = exact[0], exact[1:]
	}
	data = data[8*n:]
	if size := size(to); size >= 0 {
		if size != len(data) {
			return fmt.Errorf("an aggregate of %d bytes, expected %d", len(data), size)
		}
		_, err := binary.Decode(data, binary.LittleEndian, to)
		return err
	}
	at := reflect.ValueOf(to).Elem()
	value := reflect.New(at.Type()) // others may still read the memory of the last value
	if err := unpack(data, value.Interface()); err != nil {
		return err
	}
	at.Set(value.Elem())
	return nil
}

// size returns the encoded size of the type that value points to, or -1 if it depends on the value.
func size(value any) int {
	switch reflect.TypeOf(value).Elem().Kind() {
	case reflect.Slice, reflect.Pointer:
		return -1
	}
	return binary.Size(value)
}
