package kernel

import (
	"math/bits"
	"unsafe"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
)

// MessageColumn has the messages to all neighbours, by source slot (HM of Ueno13). One array is
// read while the other is written.
type MessageColumn[S any] struct {
	Read, Write []S
	Raw         bool // elements contain no pointers
}

// NewMessageColumn makes the column of a kernel.
func NewMessageColumn[S any](b Binding) MessageColumn[S] {
	return MessageColumn[S]{
		Read:  mem.Make[S](b.Arena, b.Capacity),
		Write: mem.Make[S](b.Arena, b.Capacity),
		Raw:   mem.PointerFree[S](),
	}
}

// Window returns the array of word w in the column.
func (c *MessageColumn[S]) Window(w int, _ *[64]S) *[64]S { return (*[64]S)(c.Write[w<<6:]) }

// Store does nothing, because Window returned the column itself.
func (c *MessageColumn[S]) Store(int, uint64, *[64]S) int { return -1 }

func (c *MessageColumn[S]) Swap() { c.Read, c.Write = c.Write, c.Read }

// Bytes returns the size of a message.
func (c *MessageColumn[S]) Bytes() int { return int(unsafe.Sizeof(*new(S))) }

// Next returns the array being written.
func (c *MessageColumn[S]) Next() Column { return &Vec[S]{Data: c.Write} }

// Pack packs the messages of the present vertices of a list.
func (c *MessageColumn[S]) Pack(
	next bool, present *bitmap.Frontier, list *bitmap.List, to *Packed,
) {
	var out []S
	column := c.Read
	if next {
		column = c.Write
	}
	if c.Raw {
		out = wire.Slice[S](to.Raw[:0])
	} else if ref, ok := to.Ref.([]S); ok {
		out = ref[:0]
	}
	if cap(out) < to.N {
		out = make([]S, 0, to.N+to.N/4)
	}
	list.Shared(present, func(w int, word, _ uint64, _ uint32) {
		values, more := (*[64]S)(column[w<<6:]), out
		for ; word != 0; word &= word - 1 {
			more = append(more, values[bits.TrailingZeros64(word)&63])
		}
		out = more
	})
	if c.Raw {
		to.Raw = wire.Bytes(out)
	} else {
		to.Ref = out
	}
}

// Unpack writes the packed messages to slots: bit i of present stands for slot first + i.
func (c *MessageColumn[S]) Unpack(from *Packed, present []uint64, first uint32) {
	var values []S
	switch {
	case c.Bytes() == 0:
		return // presence is the whole message
	case c.Raw:
		values = wire.Slice[S](from.Raw)[:from.N]
	default:
		values = from.Ref.([]S)
	}
	slots := c.Read[first:]
	k := 0
	for w, word := range present {
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

// Emit appends the messages that cross some rows to bins, one pair per edge.
func Emit[M any](p *Push, rows []Row, read []M, bins *Bins[M]) {
	for _, row := range rows {
		Scatter(p.Adj[row.Lo:row.Hi], p.Skip, read[row.From], bins)
	}
}

// Fetch reads, for each word, the element of the lowest bit in which. So many cache misses overlap,
// as in Push.Fetch.
//
//go:noinline
func (v *Vec[T]) Fetch(words []int32, which []uint64) (read byte) {
	for k, w := range words {
		if unsafe.Sizeof(*new(T)) > 0 {
			read += *(*byte)(unsafe.Pointer(&v.Data[int(w)<<6+bits.TrailingZeros64(which[k])]))
		}
	}
	return read
}

// grow makes room for a pair in a bin.
func (b *Bins[M]) grow(bin uint32) {
	b.To[bin] = mem.Grow(b.Store, b.To[bin], 1)
	b.Msg[bin] = mem.Grow(b.Store, b.Msg[bin], 1)
}

// Scatter appends the message x once for each vertex of a list that is not skipped.
func Scatter[M any](list []uint32, skip []uint64, x M, bins *Bins[M]) {
	for _, d := range list {
		if skip[d>>6]>>(d&63)&1 != 0 {
			continue
		}
		b := d >> bins.Shift
		if len(bins.To[b]) == cap(bins.To[b]) || len(bins.Msg[b]) == cap(bins.Msg[b]) {
			bins.grow(b)
		}
		bins.To[b] = append(bins.To[b], d)
		bins.Msg[b] = append(bins.Msg[b], x)
	}
}
