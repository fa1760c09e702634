package mesh

import "github.com/superstep-go/superstep/internal/transport"

// arrival is a frame that came.
type arrival struct {
	frame  transport.Frame
	local  *transport.Frame // of this worker: passed by reference
	buffer []byte           // the payload, from shift on
	shift  int              // such that values begin at a multiple of 8
	packed []byte           // values that are the codec's
	inb    *inbound
	worker int
	size   uint64 // on the wire
}

// sudden is how much memory a frame gets on its header's word alone; the rest comes as its bytes do.
const sudden = 16 << 20

// grow makes room for n bytes of payload behind the first have, and returns it.
func (a *arrival) grow(id *identity, have, n int) []byte {
	if have == 0 {
		a.shift = int(-id.presence & 7)
	}
	if need := a.shift + have + n; need > cap(a.buffer) {
		whole := a.shift + int(id.payload())
		size := max(min(whole, max(sudden, 2*need)), 64)
		larger := make([]byte, need, size)
		copy(larger, a.buffer[:min(a.shift+have, len(a.buffer))])
		a.buffer = larger
	}
	a.buffer = a.buffer[:a.shift+have+n]
	return a.buffer[a.shift+have:]
}

// complete makes the frame of what came.
func (a *arrival) complete(id *identity) {
	presence, values := a.shift, a.shift+int(id.presence)
	a.frame = transport.Frame{
		From: int(id.from), To: int(id.to), Superstep: int(id.superstep), Kind: transport.Kind(id.kind),
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
