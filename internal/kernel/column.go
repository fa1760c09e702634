package kernel

import (
	"unsafe"

	"github.com/superstep-go/superstep/internal/mem"
)

// MessageColumn has the messages to all neighbours, by source slot (HM of Ueno13). One array is
// read while the other is written.
type MessageColumn[S any] struct {
	Read, Write []S
	Raw         bool // elements contain no pointers
	views       [2]Vec[S]
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

// Column returns the array being written, or the one being read.
func (c *MessageColumn[S]) Column(next bool) Column {
	if next {
		c.views[1].Data = c.Write
		return &c.views[1]
	}
	c.views[0].Data = c.Read
	return &c.views[0]
}

// Emit appends the messages that cross some rows to bins, one pair per edge.
func Emit[M any](p *Push, rows []Row, read []M, bins *Bins[M]) {
	for _, row := range rows {
		Scatter(p.Adj[row.Lo:row.Hi], p.Skip, read[row.From], bins)
	}
}

// Touch reads some elements. So many cache misses overlap, as in Push.Fetch.
//
//go:noinline
func (v *Vec[T]) Touch(at []uint32) (read byte) {
	for _, i := range at {
		if unsafe.Sizeof(*new(T)) > 0 {
			read += *(*byte)(unsafe.Pointer(&v.Data[i]))
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
