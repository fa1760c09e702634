package pack

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
)

// Values encodes the values of vertices in blocks, the format of a raw result. Values without
// pointers are encoded as they are in memory, others like messages. A block has values of vertices
// of one partition, in ascending order:
//
//	0           4           8               16              24
//	+-----------+-----------+---------------+---------------+----------------+
//	| partition | count     | first vertex  | bytes         | values         |
//	+-----------+-----------+---------------+---------------+----------------+
//
// All numbers are little-endian; the first vertex is counted within its partition (kernel.Deal).
// Make it with NewValues.
type Values struct {
	t     reflect.Type
	codec *Messages // nil: as in memory
}

const blockHeader = 24

// NewValues returns the encoding of values of type t. raw means that they have no pointers. It
// returns an error for types that would lose data.
func NewValues(t reflect.Type, raw bool) (Values, error) {
	if raw {
		return Values{t: t}, nil
	}
	if err := Carried(t); err != nil {
		return Values{}, fmt.Errorf("values of type %v cannot be encoded: %w", t, err)
	}
	return Values{t, &Messages{slice: reflect.SliceOf(t)}}, nil
}

// Type returns a description of everything in the type that the encoding depends on. Processes with
// the same description understand each other.
func (c Values) Type() string { return Describe(c.t, c.codec == nil) }

// describe describes a type. raw means that memory is copied, whatever methods a type has. open has
// the enclosing types.
func describe(t reflect.Type, raw bool, open []reflect.Type) string {
	if slices.Contains(open, t) || !raw && encodesItself(t) {
		return t.String()
	}
	open = append(open, t)
	switch t.Kind() {
	case reflect.Int:
		return "int" + strconv.Itoa(t.Bits())
	case reflect.Uint, reflect.Uintptr:
		return "uint" + strconv.Itoa(t.Bits())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), describe(t.Elem(), raw, open))
	case reflect.Slice:
		return "[]" + describe(t.Elem(), raw, open)
	case reflect.Pointer:
		return "*" + describe(t.Elem(), raw, open)
	case reflect.Map:
		return "map[" + describe(t.Key(), raw, open) + "]" + describe(t.Elem(), raw, open)
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, describe(t.Field(i).Type, raw, open))
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	default:
		return t.Kind().String()
	}
}

// AppendBlock appends a block: the values of a partition's vertices from first on.
func (c Values) AppendBlock(b []byte, partition, first int, values kernel.Column) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, uint32(partition))
	b = binary.LittleEndian.AppendUint32(b, uint32(values.Len()))
	b = binary.LittleEndian.AppendUint64(b, uint64(first))
	length := len(b)
	b, err := c.Append(append(b, make([]byte, 8)...), values)
	binary.LittleEndian.PutUint64(b[length:], uint64(len(b)-length-8))
	return b, err
}

// Append appends values without a header.
func (c Values) Append(b []byte, values kernel.Column) ([]byte, error) {
	var p kernel.Packed
	if values.Pack(&p); c.codec == nil {
		return append(b, p.Raw...), nil
	}
	return c.codec.Append(b, &transport.Frame{Count: p.N, Ref: p.Ref})
}

// Decode returns the n values that Append encoded in b, in a column of like's type. They may share
// b's memory. It returns an error for any other bytes. The values may take far more memory than b,
// for example if they decode themselves, so the caller must bound n.
func (c Values) Decode(b []byte, n int, like kernel.Column) (kernel.Column, error) {
	p, to := kernel.Packed{Raw: b, N: n}, like.New(nil)
	if c.codec != nil {
		f := transport.Frame{Count: n}
		if err := c.codec.Decode(b, &f); err != nil {
			return nil, err
		}
		p.Ref = f.Ref
	}
	return to, to.View(&p)
}

// Column is a writer that decodes the values of all vertices from a raw result.
type Column[V any] struct {
	*Blocks
	Values []V
	// Has has a bit for each id that got a value; nil without gaps.
	Has []uint64
}

// NewColumn makes a column of a number of ids, dealt to partitions by deal. With gaps,
// some ids are without a vertex because a program removed it. Blocks leave these out.
func NewColumn[V any](ids int, deal kernel.Deal, gaps bool) *Column[V] {
	like := &kernel.Vec[V]{}
	c := &Column[V]{Values: make([]V, ids)}
	c.Blocks = newBlocks(func(partition int) (kernel.Column, int) {
		if partition >= deal.Partitions() {
			return nil, 0
		}
		return like, deal.Owned(ids, partition)
	}, func(partition, first int, some kernel.Column) {
		for i, v := range kernel.Elements[V](some) {
			id := deal.ID(partition, uint32(first+i))
			if c.Values[id] = v; gaps {
				bitmap.Set(c.Has, uint32(id))
			}
		}
	})
	if c.gaps = gaps; gaps {
		c.Has = make([]uint64, bitmap.Words(ids))
	}
	return c
}
