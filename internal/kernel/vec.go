package kernel

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// Column is a sequence of values of an erased type: vertices' values, messages, or properties.
// Every Column is a *Vec. Two columns in the same call have the same type.
type Column interface {
	Len() int
	// Type is the type of an element. Raw reports whether elements contain no pointers.
	Type() reflect.Type
	Raw() bool
	// New returns an empty column of the same type. Its large arrays are in store, or on Go's heap
	// if store is nil.
	New(store *mem.Arena) Column
	// Truncate keeps the first n elements. It keeps the memory of the others for later use.
	Truncate(n int)
	// Room makes room for n more elements.
	Room(n int)
	// Append appends all elements of another column. AppendAt appends its elements at the indices
	// at. AppendBits appends the elements at the ones of words; bit 0 of words is element first.
	// AppendList appends the elements of the present members of a list. AppendZero appends n zero
	// values.
	Append(from Column)
	AppendAt(from Column, at []uint32)
	AppendBits(from Column, first uint32, words []uint64)
	AppendList(from Column, present *bitmap.Frontier, list *bitmap.List)
	AppendZero(n int)
	// Copy copies n elements of another column, from index j on, to index i on. SetZero sets
	// element i to zero. SetBits is the inverse of AppendBits: it sets the elements at the ones of
	// words to those of another column, in order.
	Copy(i int, from Column, j, n int)
	SetZero(i int)
	SetBits(first uint32, words []uint64, from Column)
	// Move returns a new column: its element i is element places[i] of this one, or zero if
	// places[i] is beyond the end.
	Move(places []uint32) Column
	// Any returns element i.
	Any(i int) any
	// Slice returns all elements as a []T. Part returns a view of the elements in [lo, hi).
	Slice() any
	Part(lo, hi int) Column
	// Pack makes p a view of all elements. View makes the column a view of p's elements. It returns
	// an error if p does not have p.N elements.
	Pack(p *Packed)
	View(p *Packed) error
}

// Vec is a Column of values of type T.
type Vec[T any] struct {
	Data  []T
	Store *mem.Arena // arena of large arrays, or nil
}

// Elements returns the elements of a column of type T.
func Elements[T any](c Column) []T { return c.(*Vec[T]).Data }

func (v *Vec[T]) Len() int           { return len(v.Data) }
func (v *Vec[T]) Type() reflect.Type { return reflect.TypeFor[T]() }
func (v *Vec[T]) Raw() bool          { return mem.PointerFree[T]() }
func (v *Vec[T]) Any(i int) any      { return v.Data[i] }
func (v *Vec[T]) Slice() any         { return v.Data }

func (v *Vec[T]) Part(lo, hi int) Column { return &Vec[T]{Data: v.Data[lo:hi]} }

func (v *Vec[T]) New(store *mem.Arena) Column { return &Vec[T]{Store: store} }

func (v *Vec[T]) Truncate(n int) { v.Data = v.Data[:n] }

func (v *Vec[T]) Room(n int) { v.Data = mem.Grow(v.Store, v.Data, n) }

func (v *Vec[T]) Append(from Column) {
	other := from.(*Vec[T]).Data
	v.Room(len(other))
	v.Data = append(v.Data, other...)
}

func (v *Vec[T]) AppendAt(from Column, at []uint32) {
	other := from.(*Vec[T]).Data
	v.Room(len(at))
	data := v.Data
	for _, i := range at {
		data = append(data, other[i])
	}
	v.Data = data
}

func (v *Vec[T]) AppendBits(from Column, first uint32, words []uint64) {
	other, data := from.(*Vec[T]).Data, v.Data
	for w, word := range words {
		if word == 0 {
			continue
		}
		some := other[first+uint32(w)<<6:]
		for ; word != 0; word &= word - 1 {
			data = append(data, some[bits.TrailingZeros64(word)])
		}
	}
	v.Data = data
}

func (v *Vec[T]) AppendList(from Column, present *bitmap.Frontier, list *bitmap.List) {
	other, data := from.(*Vec[T]).Data, v.Data
	if mem.SizeOf[T]() == 0 { // presence is the whole value
		list.Shared(present, func(_ int, word, _ uint64, _ uint32) {
			data = data[:len(data)+bits.OnesCount64(word)]
		})
		v.Data = data
		return
	}
	list.Shared(present, func(w int, word, _ uint64, _ uint32) {
		values, more := (*[64]T)(other[w<<6:]), data
		for ; word != 0; word &= word - 1 {
			more = append(more, values[bits.TrailingZeros64(word)&63])
		}
		data = more
	})
	v.Data = data
}

func (v *Vec[T]) SetBits(first uint32, words []uint64, from Column) {
	if mem.SizeOf[T]() == 0 {
		return
	}
	values, slots, k := from.(*Vec[T]).Data, v.Data[first:], 0
	for w, word := range words {
		if word == ^uint64(0) {
			k += copy(slots[w<<6:w<<6+64], values[k:])
			continue
		}
		for ; word != 0; word &= word - 1 {
			slots[w<<6+bits.TrailingZeros64(word)] = values[k]
			k++
		}
	}
}

func (v *Vec[T]) AppendZero(n int) {
	at := len(v.Data)
	v.Room(n)
	v.Data = v.Data[:at+n]
	clear(v.Data[at:])
}

func (v *Vec[T]) Copy(i int, from Column, j, n int) {
	copy(v.Data[i:i+n], from.(*Vec[T]).Data[j:j+n])
}

func (v *Vec[T]) SetZero(i int) {
	var zero T
	v.Data[i] = zero
}

func (v *Vec[T]) Move(places []uint32) Column {
	to := make([]T, len(places))
	for i, at := range places {
		if int(at) < len(v.Data) {
			to[i] = v.Data[at]
		}
	}
	return &Vec[T]{Data: to}
}

func (v *Vec[T]) Pack(p *Packed) {
	p.N = len(v.Data)
	if v.Raw() {
		p.Raw, p.Ref = wire.Bytes(v.Data), nil
	} else {
		p.Raw, p.Ref = nil, v.Data
	}
}

func (v *Vec[T]) View(p *Packed) error {
	size := mem.SizeOf[T]()
	switch {
	case !v.Raw():
		v.Data, _ = p.Ref.([]T)
	case size == 0: // there are no bytes
		v.Data = make([]T, max(p.N, 0))
	default:
		v.Data = wire.Slice[T](p.Raw)
	}
	if v.Raw() && (p.Ref != nil || len(p.Raw) != p.N*size) {
		return fmt.Errorf("%d bytes for %d values of %d bytes", len(p.Raw), p.N, size)
	}
	if len(v.Data) != p.N {
		return fmt.Errorf("found %d values, expected %d", len(v.Data), p.N)
	}
	return nil
}

// Sends is an Outbox with erased type.
type Sends interface {
	// Receivers, Senders and Messages return the messages to one owner: the receivers' local
	// indices, the senders' ids if the outbox has them, and the messages. Messages is valid until
	// the next call.
	Receivers(owner int) []uint32
	Senders(owner int) []uint64
	Messages(owner int) Column
}

func (o *Addresses) Receivers(owner int) []uint32 { return o.To[owner] }

func (o *Addresses) Senders(owner int) []uint64 { return o.From[owner] }

func (o *Outbox[M]) Messages(owner int) Column {
	o.view.Data = o.Msg[owner]
	return &o.view
}

// Pairs is a Bins with erased type.
type Pairs interface {
	// Layout returns the receivers by bin. The bin of a slot is slot >> shift.
	Layout() (shift uint, to [][]uint32)
	// Messages returns the messages of a bin. They are valid until the next call.
	Messages(bin int) Column
	Len() int
	Reset()
}

func (b *Receivers) Layout() (shift uint, to [][]uint32) { return b.Shift, b.To }

func (b *Bins[M]) Messages(bin int) Column {
	b.view.Data = b.Msg[bin]
	return &b.view
}

// Limits returns the least and the greatest value of a number type. For floats these are
// infinities.
func Limits[T any]() (least, greatest T) {
	lo, hi := reflect.ValueOf(&least).Elem(), reflect.ValueOf(&greatest).Elem()
	switch unused := 64 - lo.Type().Bits(); {
	case lo.CanFloat():
		lo.SetFloat(math.Inf(-1))
		hi.SetFloat(math.Inf(1))
	case lo.CanInt():
		lo.SetInt(math.MinInt64 >> unused)
		hi.SetInt(math.MaxInt64 >> unused)
	default:
		hi.SetUint(math.MaxUint64 >> unused)
	}
	return least, greatest
}
