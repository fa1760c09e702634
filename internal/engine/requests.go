package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/internal/wire"
)

// request is a request with the value that it brings, if it adds a vertex.
type request[V any] struct {
	kernel.Request
	value V
}

// requestBytes is what a request takes between partitions: its kind, three ids and a weight.
const requestBytes = 1 + 4*8

// requestCodec encodes the requests that one partition makes of another.
//
//	| ids so far (8) | how many (8) | kind (1) of (8) to (8) by (8) weight (8) | ... | values of the vertices to be added, in order |
//
// Ids so far is one more than the largest id that the sender's requests need. Values without pointers lie there as in memory.
type requestCodec[V any] struct {
	raw    bool
	values *pack.Messages[V]
}

func newRequestCodec[V any]() (c requestCodec[V], err error) {
	if c.raw = mem.PointerFree[V](); !c.raw {
		c.values, err = pack.New[V]()
	}
	return c, err
}

func (c requestCodec[V]) encode(ids uint64, list []request[V]) ([]byte, error) {
	b := make([]byte, 0, 16+requestBytes*len(list))
	b = binary.LittleEndian.AppendUint64(b, ids)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	var values []V
	for i := range list {
		r := &list[i]
		b = append(b, byte(r.Kind))
		for _, x := range []uint64{r.Of, r.To, r.By, math.Float64bits(r.Weight)} {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		if r.Kind == kernel.AddVertex {
			values = append(values, r.value)
		}
	}
	switch {
	case len(values) == 0:
		return b, nil
	case c.raw:
		return append(b, wire.Bytes(values)...), nil
	}
	return c.values.Append(b, &transport.Frame{Ref: values, Count: len(values)})
}

var errRequests = errors.New("requests that make no sense")

// decode appends the requests in b to list, each about a vertex that owns accepts, and returns it with the ids that the sender needs.
func (c requestCodec[V]) decode(b []byte, list []request[V], owns func(id uint64) bool) ([]request[V], uint64, error) {
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
		r := request[V]{Request: kernel.Request{Kind: kernel.RequestKind(b[0]), Of: x[0], To: x[1], By: x[2], Weight: math.Float64frombits(x[3])}}
		if r.Kind > kernel.RemoveVertex || !owns(r.Of) {
			return nil, 0, fmt.Errorf("%w: of kind %d about vertex %d", errRequests, r.Kind, r.Of)
		}
		if r.Kind == kernel.AddVertex {
			added++
		}
		list = append(list, r)
		b = b[requestBytes:]
	}
	values, err := c.decodeValues(b, added)
	if err != nil {
		return nil, 0, err
	}
	for i := first; i < len(list); i++ {
		if list[i].Kind == kernel.AddVertex {
			list[i].value, values = values[0], values[1:]
		}
	}
	return list, ids, nil
}

func (c requestCodec[V]) decodeValues(b []byte, n int) ([]V, error) {
	var v V
	size := len(wire.Bytes([]V{v}))
	switch {
	case n == 0 && len(b) == 0, c.raw && size == 0 && len(b) == 0:
		return make([]V, n), nil
	case n == 0 || c.raw && len(b) != n*size:
		return nil, fmt.Errorf("%w: %d bytes for %d values", errRequests, len(b), n)
	case c.raw:
		values := make([]V, n)
		copy(wire.Bytes(values), b)
		return values, nil
	}
	f := transport.Frame{Count: n}
	if err := c.values.Decode(b, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errRequests, err)
	}
	return f.Ref.([]V), nil
}

// inOrder sorts requests by the vertex they are about, and those about one by who asked; those of one vertex stay in the order of its calls.
func inOrder[V any](list []request[V]) {
	slices.SortStableFunc(list, func(a, b request[V]) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.By, b.By)) })
}
