package mesh

import (
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
)

// arrival is a frame that came.
type arrival struct {
	frame  transport.Frame
	local  *transport.Frame // of this worker: passed by reference
	buffer []byte           // the payload, from shift on
	memory *mem.Buffer      // where that lies: who reads it must hold the arrival
	shift  int              // such that values begin at a multiple of 8
	packed []byte           // values that are the codec's
	inb    *inbound
	worker int
	size   uint64 // on the wire
}

// sudden is how much memory a frame gets on its header's word alone; the rest comes as its bytes
// do.
const sudden = 16 << 20

// grow makes room for n bytes of payload behind the first have, and returns it. Where the budget is
// tight it lies in a file, and where that has no room it is refused.
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

// complete makes the frame of what came.
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
