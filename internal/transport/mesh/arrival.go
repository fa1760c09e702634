package mesh

import (
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// arrival is a frame that has arrived.
type arrival struct {
	frame  transport.Frame
	local  *transport.Frame // a frame from this worker, passed by reference
	buffer []byte           // the payload, from shift on
	memory *mem.Buffer      // the memory of buffer: a reader must hold the arrival
	shift  int              // padding that aligns values to 8 bytes
	packed []byte           // values encoded by the codec
	inb    *inbound
	worker int
	size   uint64 // on the wire
}

// sudden is the most memory that a frame gets because of its header alone. It gets more as its
// bytes arrive.
const sudden = 16 << 20

// grow makes room for n bytes of payload after the first have bytes, and returns it. If the budget
// is tight the memory is a file. If the file system is full too, grow returns an error.
func (a *arrival) grow(b *mem.Budget, id *identity, have, n int) ([]byte, error) {
	if have == 0 {
		a.shift = int(-id.presence & 7)
	}
	if need := a.shift + have + n; need > cap(a.buffer) {
		whole := a.shift + int(id.payload())
		size := max(min(whole, max(sudden, 2*need)), 64)
		larger, err := b.Buffer(mem.Frames, size)
		if err != nil {
			return nil, err
		}
		copy(larger.Data, a.buffer[:min(a.shift+have, len(a.buffer))])
		a.memory.Free()
		a.buffer, a.memory = larger.Data, larger
	}
	a.buffer = a.buffer[:a.shift+have+n]
	return a.buffer[a.shift+have:], nil
}

// complete sets the frame from the received bytes.
func (a *arrival) complete(id *identity) {
	presence, values := a.shift, a.shift+int(id.presence)
	a.frame = transport.Frame{
		From: int(id.from), To: int(id.to), Superstep: int(id.superstep),
		Kind:     transport.Kind(id.kind),
		Encoding: id.encoding, Count: int(id.count),
	}
	a.packed = nil
	whole := a.buffer[:values+int(id.contents)]
	if id.presence > 0 {
		a.frame.Presence = whole[presence:values:values]
	}
	if id.form == formPacked {
		a.packed = whole[values:]
	} else if id.contents > 0 {
		a.frame.Raw = whole[values:]
	}
}
