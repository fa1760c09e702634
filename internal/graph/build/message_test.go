package build

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
)

func FuzzMessages(f *testing.F) {
	one := binary.LittleEndian.AppendUint32([]byte{1}, 3)
	one = binary.LittleEndian.AppendUint32(one, 4)
	f.Add(append(appendWord(one, 2), "ab"...))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		more, err := eachMessage(data, func(l graph.Message) error {
			again = binary.LittleEndian.AppendUint32(again, uint32(l.From))
			again = binary.LittleEndian.AppendUint32(again, uint32(l.To))
			again = append(appendWord(again, uint64(len(l.Data))), l.Data...)
			return nil
		})
		if err != nil {
			if !errors.Is(err, collective.ErrMessage) {
				t.Error(err)
			}
			return
		}
		if more != (data[0] == 1) || !bytes.Equal(again, data[1:]) {
			t.Errorf("%x is read as %x, %t", data, again, more)
		}
	})
}

// TestOwners: the two products give the remainder of a division.
func TestOwners(t *testing.T) {
	for n := 1; n < 300; n++ {
		rank := make([]int, n)
		for i := range rank {
			rank[i] = i
		}
		o := newOwners(rank)
		for _, id := range []uint32{0, 1, uint32(n) - 1, uint32(n), 1<<31 - 1, 1 << 31, 1<<32 - 1, 4_000_000_007 & (1<<32 - 1), 123_456_789} {
			if got := o.of(id); got != int(id)%n {
				t.Fatalf("%d mod %d is %d, not %d", id, n, int(id)%n, got)
			}
		}
	}
}
