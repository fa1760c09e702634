package state

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
)

// sketch takes far more memory than its encoding, which only has the registers that are not zero.
type sketch struct {
	Registers [256]uint64
	Next      []byte
}

func (s sketch) MarshalBinary() (b []byte, err error) {
	for i, r := range s.Registers {
		if r != 0 {
			b = binary.LittleEndian.AppendUint64(append(b, byte(i)), r)
		}
	}
	return b, nil
}

func (s *sketch) UnmarshalBinary(b []byte) error {
	for ; len(b) >= 9; b = b[9:] {
		s.Registers[b[0]] = binary.LittleEndian.Uint64(b[1:])
	}
	return nil
}

// TestUnpackOfCompactValues: values are unpacked as they were packed, even if they take much more
// memory.
func TestUnpackOfCompactValues(t *testing.T) {
	c := &kernel.Vec[sketch]{Data: make([]sketch, 5000)}
	for i := range c.Data {
		c.Data[i].Registers[i%256] = uint64(i)
	}
	b, err := Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(c, b, len(c.Data))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kernel.Elements[sketch](got), c.Data) {
		t.Error("the values are others")
	}
	if _, err := Unpack(c, b, len(c.Data)-1); err == nil {
		t.Error("more values than there are vertices are taken")
	}
}
