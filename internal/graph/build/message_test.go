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
