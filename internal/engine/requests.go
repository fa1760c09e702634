package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// requestBytes is what a request takes between partitions: its kind, three ids and a weight.
const requestBytes = 1 + 4*8

// requestCodec encodes the requests that one partition makes of another.
//
//	| ids so far (8) | how many (8) | kind (1) of (8) to (8) by (8) weight (8) | ... | values of the vertices to be added, in order |
//
// Ids so far is one more than the largest id that the sender's requests need. Values without pointers lie there as in memory.
type requestCodec struct {
	size  int            // of a value
	codec *pack.Messages // of values with pointers, or nil
}

func newRequestCodec(values kernel.Column) (c requestCodec, err error) {
	if c.size = int(values.Type().Size()); !values.Raw() {
		c.codec, err = pack.New(values.Type())
	}
	return c, err
}

func (c requestCodec) encode(ids uint64, list []kernel.Request, values kernel.Column) ([]byte, error) {
	b := make([]byte, 0, 16+requestBytes*len(list))
	b = binary.LittleEndian.AppendUint64(b, ids)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	var added []uint32
	for i := range list {
		r := &list[i]
		b = append(b, byte(r.Kind))
		for _, x := range []uint64{r.Of, r.To, r.By, math.Float64bits(r.Weight)} {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		if r.Kind == kernel.AddVertex {
			added = append(added, r.Value)
		}
	}
	if len(added) == 0 {
		return b, nil
	}
	some, packed := values.New(nil), kernel.Packed{}
	some.AppendAt(values, added)
	if some.Pack(&packed); c.codec == nil {
		return append(b, packed.Raw...), nil
	}
	return c.codec.Append(b, &transport.Frame{Ref: packed.Ref, Count: packed.N})
}

var errRequests = errors.New("requests that make no sense")

// decode appends the requests in b to list, each about a vertex that owns accepts, and returns it with the ids that the sender needs.
func (c requestCodec) decode(b []byte, list []kernel.Request, values kernel.Column, owns func(id uint64) bool) ([]kernel.Request, uint64, error) {
	if len(b) < 16 {
		return nil, 0, fmt.Errorf("%w: %d bytes", errRequests, len(b))
	}
	ids, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if b = b[16:]; n > uint64(len(b))/requestBytes {
		return nil, 0, fmt.Errorf("%w: %d in %d bytes", errRequests, n, len(b))
	}
	first, added := len(list), 0
	for range n {
		var x [4]uint64
		for i := range x {
			x[i] = binary.LittleEndian.Uint64(b[1+8*i:])
		}
		r := kernel.Request{Kind: kernel.RequestKind(b[0]), Of: x[0], To: x[1], By: x[2], Weight: math.Float64frombits(x[3])}
		if r.Kind > kernel.RemoveVertex || !owns(r.Of) {
			return nil, 0, fmt.Errorf("%w: of kind %d about vertex %d", errRequests, r.Kind, r.Of)
		}
		if r.Kind == kernel.AddVertex {
			added++
		}
		list = append(list, r)
		b = b[requestBytes:]
	}
	at := values.Len()
	if err := c.decodeValues(b, added, values); err != nil {
		return nil, 0, err
	}
	for i := first; i < len(list); i++ {
		if list[i].Kind == kernel.AddVertex {
			list[i].Value = uint32(at)
			at++
		}
	}
	return list, ids, nil
}

// decodeValues appends n values to a column.
func (c requestCodec) decodeValues(b []byte, n int, to kernel.Column) error {
	p := kernel.Packed{Raw: b, N: n}
	switch {
	case n == 0 && len(b) == 0:
		return nil
	case n == 0 || c.codec == nil && len(b) != n*c.size:
		return fmt.Errorf("%w: %d bytes for %d values", errRequests, len(b), n)
	case c.codec != nil:
		f := transport.Frame{Count: n}
		if err := c.codec.Decode(b, &f); err != nil {
			return fmt.Errorf("%w: %w", errRequests, err)
		}
		p.Raw, p.Ref = nil, f.Ref
	default:
		p.Raw = slices.Clone(b) // where values are aligned
	}
	some := to.New(nil)
	if err := some.View(&p); err != nil {
		return fmt.Errorf("%w: %w", errRequests, err)
	}
	to.Append(some)
	return nil
}

// inOrder sorts requests by the vertex they are about, and those about one by who asked; those of one vertex stay in the order of its calls.
func inOrder(list []kernel.Request) {
	slices.SortStableFunc(list, func(a, b kernel.Request) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.By, b.By)) })
}
