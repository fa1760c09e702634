// Package change resolves the requests of vertices to change the graph (docs/design/mutation.md).
// It determines the removed and added arcs and vertices. Package engine exchanges the requests, and
// moves its columns to the changed partition. Read resolve.go first, then requests.go (the
// encoding).
package change

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// requestBytes is the encoded size of a request: its kind, three ids and a weight.
const requestBytes = 1 + 4*8

// Codec encodes the requests that one partition sends to another.
//
//	| ids (8) | count (8) | kind (1) of (8) to (8) by (8) weight (8) | ... | values |
//
// ids is one more than the largest id that the sender's requests need. values are those of the
// vertices to add, in order. Values without pointers are copied from memory.
type Codec struct{ values pack.Values }

// NewCodec makes a codec of requests; values has the type of the vertices' values.
func NewCodec(values kernel.Column) (c Codec, err error) {
	c.values, err = pack.NewValues(values.Type(), values.Raw())
	return c, err
}

// Encode encodes requests, and the values of vertices to add. ids is one more than the largest id
// that the requests need.
func (c Codec) Encode(ids uint64, list []kernel.Request, values kernel.Column) ([]byte, error) {
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
	some := values.New(nil)
	some.AppendAt(values, added)
	return c.values.Append(b, some)
}

// ErrRequests is the error for bytes that are not valid requests.
var ErrRequests = errors.New("invalid requests")

// Decode decodes requests from b and appends them to list, and their values to values. owns must
// accept the vertex of each request. Decode returns the list and the ids that the sender needs.
func (c Codec) Decode(
	b []byte, list []kernel.Request, values kernel.Column, owns func(id uint64) bool,
) ([]kernel.Request, uint64, error) {
	if len(b) < 16 {
		return nil, 0, fmt.Errorf("%w: %d bytes", ErrRequests, len(b))
	}
	ids, n := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if b = b[16:]; n > uint64(len(b))/requestBytes {
		return nil, 0, fmt.Errorf("%w: %d in %d bytes", ErrRequests, n, len(b))
	}
	first, added := len(list), 0
	for range n {
		var x [4]uint64
		for i := range x {
			x[i] = binary.LittleEndian.Uint64(b[1+8*i:])
		}
		r := kernel.Request{
			Kind: kernel.RequestKind(b[0]), Of: x[0], To: x[1], By: x[2],
			Weight: math.Float64frombits(x[3]),
		}
		if r.Kind > kernel.RemoveVertex || !owns(r.Of) {
			return nil, 0, fmt.Errorf("%w: of kind %d about vertex %d", ErrRequests, r.Kind, r.Of)
		}
		if r.Kind == kernel.AddVertex {
			added++
		}
		list = append(list, r)
		b = b[requestBytes:]
	}
	at := values.Len()
	if added > 0 || len(b) > 0 {
		some, err := c.values.Decode(b, added, values)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrRequests, err)
		}
		values.Append(some)
	}
	for i := first; i < len(list); i++ {
		if list[i].Kind == kernel.AddVertex {
			list[i].Value = uint32(at)
			at++
		}
	}
	return list, ids, nil
}

// InOrder sorts requests by their vertex, and those with the same vertex by the requesting vertex.
// Requests of one vertex keep the order of its calls.
func InOrder(list []kernel.Request) {
	slices.SortStableFunc(list, func(a, b kernel.Request) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.By, b.By))
	})
}
